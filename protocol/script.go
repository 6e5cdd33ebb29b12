package protocol

import (
	"slices"
	"strings"
	"time"
)

// parseScript reads the options comments among the first ten lines of a script.
func (s *State) parseScript(text string) {
	_, ext := splitName(s.Name)
	if at := strings.Index(text, "\r\n"); ext == ".sh" && at >= 0 {
		line := 1 + strings.Count(text[:at], "\n")
		s.addProblem(Pos{Line: line}, "crlf", "CRLF line endings").Hint = "convert to LF"
	}
	const head = 10
	seen := map[string]Pos{}
	for number := 1; number <= head && text != ""; number++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if options, ok := optionsIn(line, ext); ok {
			s.Claims.Marked = true
			s.setOptions(options, Pos{Line: number}, seen)
		}
	}
	if s.Work && !s.Trusted {
		s.addNeed("work", "trusted", seen["work"])
	}
	if s.Workflows && !s.Work {
		s.addNeed("workflows", "work", seen["workflows"])
	}
}

// addNeed adds a problem for an option that is true and means nothing without another.
func (s *State) addNeed(name, other string, pos Pos) {
	s.addProblem(pos, "option", "%s=true has no meaning without %s=true", name, other).Hint = "write both, or neither"
}

// optionsIn returns what follows raymond: in a comment line.
func optionsIn(line, ext string) (string, bool) {
	comment, ok := commentIn(line, ext)
	if !ok {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSpace(comment), "raymond:")
}

// commentIn returns the comment that a line of a script is nothing but: what follows #, or in a batch
// file :: or rem.
func commentIn(line, ext string) (string, bool) {
	line = strings.TrimSpace(line)
	if ext != ".bat" {
		return strings.CutPrefix(line, "#")
	}
	if comment, ok := strings.CutPrefix(line, "::"); ok {
		return comment, true
	}
	line = strings.TrimPrefix(line, "@")
	word, comment, ok := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	return comment, ok && strings.EqualFold(word, "rem")
}

// option is a place in the options comment of a script.
type option struct {
	state       *State
	pos         Pos
	name, value string
}

// scriptOptions are those that an options comment may set, in the order in which people read of them.
var scriptOptions = []struct {
	name string
	set  func(o option)
}{
	{"timeout", func(o option) { o.state.Policy.Timeout = o.duration() }},
	{"idle_timeout", func(o option) { o.state.Policy.IdleTimeout = o.duration() }},
	{"many_forks", func(o option) { o.state.Policy.Transitions.ManyForks = o.boolean() }},
	{"trusted", func(o option) { o.state.Trusted = o.boolean() }},
	{"work", func(o option) { o.state.Work = o.boolean() }},
	{"workflows", func(o option) { o.state.Workflows = o.boolean() }},
	{"targets", func(o option) { o.state.Policy.Transitions.Targets = o.targets() }},
	{"ask", func(o option) { o.state.Policy.Transitions.Asks = o.asks() }},
	{"cd", func(o option) { o.state.Policy.Transitions.Dirs = o.boolean() }},
	{"job", func(o option) { o.state.setJob(o.value, o.pos, "option") }},
	{partOnComment, func(o option) {
		o.state.OnComment = o.value
		o.state.refer(o.name, o.value, o.pos)
	}},
}

func (s *State) setOptions(options string, pos Pos, seen map[string]Pos) {
	for _, option := range strings.Fields(options) {
		name, value, ok := strings.Cut(option, "=")
		switch {
		case !ok:
			s.addProblem(pos, "option", "option %s is not written name=value", Quote(option))
		case seen[name].Line > 0:
			s.addProblem(pos, "option", "option %s appears twice", Quote(name))
		default:
			seen[name] = pos
			s.setOption(name, value, pos)
		}
	}
}

func (s *State) setOption(name, value string, pos Pos) {
	for _, known := range scriptOptions {
		if known.name == name {
			known.set(option{s, pos, name, value})
			return
		}
	}
	hint := DidYouMean(name, ScriptOptions())
	if name == "cage" {
		hint = "scripts are confined unless they say trusted=true"
	}
	s.addProblem(pos, "option", "unknown option %s", Quote(name)).Hint = hint
}

func (o option) wrong(format string, args ...any) {
	o.state.addProblem(o.pos, "option", format, args...)
}

func (o option) boolean() bool {
	if !isBoolean(o.value) {
		o.wrong("%s is %s, not true or false", o.name, Quote(o.value))
	}
	return o.value == "true"
}

func (o option) duration() *time.Duration {
	d, ok := parseDuration(o.value)
	if !ok {
		o.wrong("%s is %s, not a duration above zero such as 90s, 10m or 1h30m", o.name, Quote(o.value))
		return nil
	}
	return &d
}

// asks reads which of the attributes that say who is asked, and where, a script may write.
func (o option) asks() []string {
	names := listOf(o.value)
	for _, name := range names {
		if !slices.Contains(addressingAttributes, name) {
			o.wrong("ask names %s, not where, from or untrusted", Quote(name))
		}
	}
	return names
}

// targets reads the states that the tags of a script may name.
func (o option) targets() []string {
	names := listOf(o.value)
	for _, name := range names {
		o.state.refer(o.name, name, o.pos)
	}
	return names
}

// parseDuration reads a Go duration that is longer than zero.
func parseDuration(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0 && !strings.HasPrefix(s, "+")
}
