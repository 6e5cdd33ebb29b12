package permit

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Use is a use of a tool that the CLI refused.
type Use struct {
	Tool   string
	Input  map[string]string // the inputs that are texts
	Reason string            // the CLI's own; "" when it gave none
	Dir    string            // where it works
	// Allowed are the rules that were in force.
	Allowed []string
}

// Advice is what would let a use pass.
type Advice struct {
	// Rules are all needed. There is none when no rule helps, or when none is known
	// to.
	Rules []string
	// Everything says that one of the rules lets the tool do whatever it wants.
	Everything bool
}

const (
	longestLine = 4096 // of a command line that is looked at
	longestRule = 300
	mostRules   = 8
	// longestAdvice is what all rules of a command line come to.
	longestAdvice = 1000
)

// Advise returns the rules that would let a use pass, none that is there already.
func Advise(u Use) Advice {
	var a Advice
	if u.Tool == "Bash" {
		a = u.command()
	} else {
		a = u.other()
	}
	if len(a.Rules) > mostRules || len(strings.Join(a.Rules, ", ")) > longestAdvice {
		return Advice{}
	}
	for _, rule := range a.Rules {
		if len(rule) > longestRule || strings.ContainsAny(rule, "\n\r") || slices.Contains(u.Allowed, rule) {
			return Advice{}
		}
	}
	return a
}

// command advises on a command line.
func (u Use) command() Advice {
	text := strings.TrimSpace(u.Input["command"])
	if text == "" || len(text) > longestLine {
		return Advice{}
	}
	l := scan(text)
	if l.background {
		return Advice{}
	}
	switch remedyFor(u.Reason, l) {
	case wholeRule:
		return whole(text)
	case partRules:
		if named, ok := parts(u.Reason, l); ok {
			return u.each(l, named)
		}
		if !strings.ContainsAny(text, "|>") {
			return whole(text)
		}
	case lineRules:
		return u.each(l, l.commands)
	}
	return Advice{}
}

// unsayable are what a rule for a whole command can't say: it is one line, and a
// star and an escaped parenthesis mean something else there.
var unsayable = []string{"\n", "*", `\(`, `\)`, `\\`}

func whole(text string) Advice {
	for _, s := range unsayable {
		if strings.Contains(text, s) {
			return Advice{}
		}
	}
	return Advice{Rules: []string{"Bash(" + text + ")"}, Everything: false}
}

// each advises a rule for each of some commands of a line.
func (u Use) each(l line, commands []command) Advice {
	if changesWhereItWrites(l) {
		return Advice{}
	}
	var a Advice
	for _, c := range commands {
		if u.leaves(c) {
			return Advice{}
		}
		if len(commands) > 1 && needsNone(c) || lets(u.Allowed, c) || lets(a.Rules, c) {
			continue
		}
		rule, everything := ruleFor(c)
		if rule == "" || !lets([]string{rule}, c) {
			return Advice{}
		}
		a.Rules, a.Everything = append(a.Rules, rule), a.Everything || everything
	}
	return a
}

// changesWhereItWrites tells lines that the CLI refuses whatever is allowed: after
// a cd it doesn't know where a redirection writes, and what a version control
// command obeys.
func changesWhereItWrites(l line) bool {
	moves, writes := false, false
	for _, c := range l.commands {
		name := c.program()
		moves = moves || name == "cd"
		writes = writes || len(c.targets) > 0 || slices.Contains([]string{"git", "hg", "svn", "jj"}, name)
	}
	return moves && writes
}

// checksPaths are the programs whose paths the CLI looks at.
var checksPaths = strings.Fields("cd ls find mkdir touch rm rmdir mv cp cat head tail sort uniq wc cut paste column tr file stat diff " +
	"awk strings hexdump od base64 nl grep rg sed tee jq sha256sum sha1sum md5sum chmod ln")

// leaves reports whether a command reads or writes outside of the directory, which
// no rule allows.
func (u Use) leaves(c command) bool {
	if slices.ContainsFunc(c.targets, u.isOutside) {
		return true
	}
	return slices.Contains(checksPaths, c.program()) && slices.ContainsFunc(c.words, func(w word) bool { return u.isOutside(w.text) })
}

func (u Use) isOutside(path string) bool {
	path = strings.Trim(path, `"'`)
	switch {
	case strings.HasPrefix(path, "~"), strings.ContainsAny(path, "$`"):
		return true
	case strings.HasPrefix(path, "/dev/"):
		return false
	case !filepath.IsAbs(path) && !strings.Contains(path, ".."):
		return false
	case !filepath.IsAbs(path):
		path = filepath.Join(u.Dir, path)
	}
	rel, err := filepath.Rel(u.Dir, path)
	return err != nil || rel == ".." || strings.HasPrefix(rel, "../")
}

// needsNone tells commands that are let pass without a rule, where they are parts
// of a line.
func needsNone(c command) bool {
	return slices.Contains(strings.Fields("cd echo true false ls pwd test [ cat head tail wc sort grep"), c.program())
}

var assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`) })

// first is the index of the program's word, after variables and wrappers.
func (c command) first() int {
	i := 0
	for i < len(c.words) && (assignment().MatchString(c.words[i].text) || c.words[i].text == "!") {
		i++
	}
	return i
}

func (c command) program() string {
	if i := c.first(); i < len(c.words) {
		return c.words[i].text
	}
	return ""
}

var (
	programForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._/+@-]+$`) })
	subcommand  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]*$`) })
	// interpreters run what they are given: a rule for all that begins so would
	// allow everything.
	interpreters = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:.*/)?(?:(?:ba|z|da|k|fi)?sh|eval|exec|source|\.|sudo|su|doas|env|xargs|python[0-9.]*|node|deno|bun|perl|ruby|php|lua|` +
			`ssh|find|awk|parallel|watch|timeout|nice|nohup|time|command|setsid|npx|uvx|docker|podman)$`)
	})
)

// ruleFor returns the narrowest rule for a command that is worth having: for a
// program with a subcommand all uses of that, else the command itself; where that
// can't be said, what begins with the same words.
func ruleFor(c command) (rule string, everything bool) {
	i := c.first()
	if i >= len(c.words) || !programForm().MatchString(c.words[i].text) {
		return "", false
	}
	bare := strings.TrimPrefix(c.bare, "! ")
	risky := interpreters().MatchString(c.words[i].text)
	switch {
	case !risky && len(c.words) > i+1 && subcommand().MatchString(c.words[i+1].text):
		return "Bash(" + strings.TrimPrefix(c.text[:c.words[i+1].end], "! ") + ":*)", false
	case !c.heredoc && len(whole(bare).Rules) > 0:
		return "Bash(" + bare + ")", false
	}
	return "Bash(" + strings.TrimPrefix(c.text[:c.sayable(i)], "! ") + ":*)", risky
}

// sayable is the end of the words, the program's at least, that a rule can say.
func (c command) sayable(from int) int {
	end := c.words[from].end
	for _, w := range c.words[from+1:] {
		if len(whole(w.text).Rules) == 0 || !subcommand().MatchString(strings.TrimLeft(w.text, "-")) {
			break
		}
		end = w.end
	}
	return end
}

// editors are the tools that change files. Rules for Edit hold for all of them.
var editors = []string{"Edit", "MultiEdit", "Write", "NotebookEdit"}

var (
	toolForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`) })
	hostForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9.-]+$`) })
	plainPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/[A-Za-z0-9._/+@ -]+$`) })
	guarded   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(^|/)(\.git|\.claude|\.vscode|\.idea|\.husky|\.mcp\.json|\.(bash|zsh)[a-z_]*|\.profile|\.gitconfig|\.gitmodules)(/|$)`)
	})
)

// other advises on a tool that is no shell.
func (u Use) other() Advice {
	if !toolForm().MatchString(u.Tool) || !u.couldBeGranted() {
		return Advice{}
	}
	switch {
	case slices.Contains(editors, u.Tool):
		return u.path("Edit")
	case u.Tool == "Read":
		return u.path("Read")
	case u.Tool == "WebFetch":
		if to, err := url.Parse(u.Input["url"]); err == nil && hostForm().MatchString(to.Hostname()) {
			return Advice{Rules: []string{"WebFetch(domain:" + to.Hostname() + ")"}}
		}
	}
	return Advice{Rules: []string{u.Tool}}
}

// couldBeGranted reads the CLI's reason: it says so of what a rule would allow.
func (u Use) couldBeGranted() bool {
	return u.Reason == "" || strings.HasSuffix(u.Reason, "but you haven't granted it yet.") || strings.Contains(u.Reason, "don't ask mode")
}

// path is a rule for one file; two slashes stand for the root of the file system.
func (u Use) path(tool string) Advice {
	path := u.Input["file_path"]
	if path == "" {
		path = u.Input["notebook_path"]
	}
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(u.Dir, path)
	}
	switch {
	case guarded().MatchString(path) && tool == "Edit":
		return Advice{}
	case plainPath().MatchString(path):
		return Advice{Rules: []string{tool + "(/" + path + ")"}}
	}
	return Advice{Rules: []string{tool}, Everything: true}
}
