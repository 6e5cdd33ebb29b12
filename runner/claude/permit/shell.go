package permit

import "strings"

// line is a command line, taken apart as far as rules need it.
type line struct {
	commands []command
	// opaque says that something in it is known only when it runs: a variable, a
	// command in a command, a group, a loop.
	opaque     bool
	background bool // an & that doesn't join two commands
}

// command is a simple command of a line.
type command struct {
	text  string // as written, trimmed
	words []word // without redirections
	// bare is what was written up to the first redirection.
	bare    string
	targets []string // of redirections, as written
	heredoc bool
}

// word is a word of a command, as written.
type word struct {
	text string
	end  int // offset in the command's text after it
}

// scanner takes a command line apart. It is no shell: what it does not know it
// marks as opaque.
type scanner struct {
	in   string
	pos  int
	line line

	start   int // of the command under way
	word    int // start of the word under way, -1 outside of one
	now     command
	target  bool // the next word is where a redirection goes
	cut     bool // a redirection was seen
	heredoc string
}

func scan(in string) line {
	s := &scanner{in: in, word: -1}
	for s.pos < len(in) {
		s.step()
	}
	s.endCommand(len(in))
	return s.line
}

// step takes what stands at the position.
func (s *scanner) step() {
	switch c := s.in[s.pos]; c {
	case '\'', '"':
		s.quoted(c)
	case ' ', '\t':
		s.endWord()
		s.pos++
	case '\n':
		s.newline()
	case ';', '|', '&':
		s.operator(c)
	case '<', '>':
		s.redirection()
	default:
		s.letter(c)
	}
}

// letter takes a character that may belong to a word.
func (s *scanner) letter(c byte) {
	if c == '#' && s.word < 0 {
		s.comment()
		return
	}
	s.begin()
	if c == '\\' && s.pos+1 < len(s.in) {
		s.pos++
	}
	if strings.IndexByte("$`(){}", c) >= 0 {
		s.line.opaque = true
	}
	s.pos++
}

func (s *scanner) begin() {
	if s.word < 0 {
		s.word = s.pos
	}
}

// quoted takes a quoted text. In double quotes a variable or a command may stand.
func (s *scanner) quoted(quote byte) {
	s.begin()
	for s.pos++; s.pos < len(s.in); s.pos++ {
		switch c := s.in[s.pos]; {
		case c == quote:
			s.pos++
			return
		case quote == '"' && c == '\\':
			s.pos++
		case quote == '"' && (c == '$' || c == '`'):
			s.line.opaque = true
		}
	}
	s.line.opaque = true // without an end
}

func (s *scanner) comment() {
	s.endWord()
	s.endCommand(s.pos)
	for s.pos < len(s.in) && s.in[s.pos] != '\n' {
		s.pos++
	}
	s.start = s.pos
}

func (s *scanner) newline() {
	s.endWord()
	s.endCommand(s.pos)
	s.pos++
	if s.heredoc != "" {
		s.skipHeredoc()
	}
	s.start = s.pos
}

// skipHeredoc skips the text that is the input of a command.
func (s *scanner) skipHeredoc() {
	for s.pos < len(s.in) {
		text, _, _ := strings.Cut(s.in[s.pos:], "\n")
		s.pos = min(s.pos+len(text)+1, len(s.in))
		if strings.TrimLeft(text, "\t") == s.heredoc {
			break
		}
	}
	s.heredoc = ""
}

// operator takes what stands between commands, and the > of &>.
func (s *scanner) operator(c byte) {
	next := byte(0)
	if s.pos+1 < len(s.in) {
		next = s.in[s.pos+1]
	}
	if c == '&' && next == '>' {
		s.redirection()
		return
	}
	s.endWord()
	s.endCommand(s.pos)
	s.pos++
	switch {
	case next == c:
		s.pos++
	case c == '|' && next == '&':
		s.pos++
	case c == '&':
		s.line.background = true
	}
	s.start = s.pos
}

// redirection takes a redirection up to its target.
func (s *scanner) redirection() {
	if s.word >= 0 && !isNumber(s.in[s.word:s.pos]) {
		s.endWord()
	}
	if !s.cut {
		at := s.pos
		if s.word >= 0 {
			at = s.word
		}
		s.cut, s.now.bare = true, strings.TrimSpace(s.in[s.start:at])
	}
	s.word = -1
	begin := s.pos
	for s.pos < len(s.in) && strings.IndexByte("<>&|-", s.in[s.pos]) >= 0 {
		s.pos++
	}
	op := s.in[begin:s.pos]
	switch {
	case strings.HasPrefix(op, "<<<"):
	case strings.HasPrefix(op, "<<"):
		s.now.heredoc = true
		s.heredoc = s.delimiter()
		return
	case strings.HasSuffix(op, "&"): // a number follows
	case strings.HasSuffix(op, "&-"):
		return
	}
	s.target = true
}

// delimiter takes the word that ends a text for a command. Without quotes the
// text is looked through for variables.
func (s *scanner) delimiter() string {
	rest := strings.TrimLeft(s.in[s.pos:], " \t")
	s.pos = len(s.in) - len(rest)
	name := rest
	if i := strings.IndexAny(rest, " \t\n;|&<>"); i >= 0 {
		name = rest[:i]
	}
	s.pos += len(name)
	plain := strings.Trim(name, `'"`)
	if plain == name {
		s.line.opaque = true
	}
	return plain
}

func (s *scanner) endWord() {
	if s.word < 0 {
		return
	}
	text := s.in[s.word:s.pos]
	switch {
	case s.target:
		s.now.targets = append(s.now.targets, text)
		s.target = false
	default:
		s.now.words = append(s.now.words, word{text, s.pos - s.start})
	}
	s.word = -1
}

func (s *scanner) endCommand(at int) {
	s.endWord()
	c := s.now
	raw := s.in[min(s.start, at):at]
	lead := len(raw) - len(strings.TrimLeft(raw, " \t\n"))
	for i := range c.words {
		c.words[i].end -= lead
	}
	c.text = strings.TrimSpace(raw)
	c.dropKeywords(s)
	if !s.cut {
		c.bare = c.text
	}
	s.now, s.cut, s.target, s.start = command{}, false, false, at
	if len(c.words) == 0 && len(c.targets) == 0 && !c.heredoc {
		return
	}
	s.line.commands = append(s.line.commands, c)
}

// dropKeywords takes away the words of the shell before a command. What begins
// with another word of that kind is no simple command.
func (c *command) dropKeywords(s *scanner) {
	for len(c.words) > 0 {
		switch c.words[0].text {
		case "do", "then", "else", "elif", "if", "while", "until":
			s.line.opaque = true
		case "for", "fi", "done", "case", "esac", "select", "function", "coproc":
			s.line.opaque = true
			c.words, c.targets, c.heredoc = nil, nil, false
			return
		default:
			return
		}
		off := c.words[0].end
		rest := c.text[off:]
		blank := len(rest) - len(strings.TrimLeft(rest, " \t"))
		c.text, c.words = rest[blank:], c.words[1:]
		for i := range c.words {
			c.words[i].end -= off + blank
		}
		if s.cut {
			c.bare = strings.TrimSpace(c.bare[min(off, len(c.bare)):])
		}
	}
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
