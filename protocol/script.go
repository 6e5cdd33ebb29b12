package protocol

import (
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// parseScript reads the options from comments in the first ten lines of a script. It adds problems
// for wrong options and for CRLF in a .sh script, and warns about lines that look like options but
// have no effect.
func (s *State) parseScript(text string) {
	_, ext := splitName(s.Name)
	if at := strings.Index(text, "\r\n"); ext == ".sh" && at >= 0 {
		line := 1 + strings.Count(text[:at], "\n")
		s.addProblem(Pos{Line: line}, "crlf", "CRLF line endings").Hint = "convert to LF"
	}
	if line, _, _ := strings.Cut(text, "\n"); isFence(line) {
		s.addWarning(Pos{Line: 1}, "ignored", "a script has no frontmatter, so this one sets nothing").Hint = optionsHint(ext)
	}
	const head = 10
	seen := map[string]Pos{}
	for number := 1; text != ""; number++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		comment, isComment := commentIn(line, ext)
		switch options, ok := strings.CutPrefix(strings.TrimSpace(comment), "raymond:"); {
		case isComment && ok && number <= head:
			s.Evidence.HasMarker = true
			s.setOptions(options, Pos{Line: number}, seen)
		case isComment && ok:
			s.addWarning(Pos{Line: number}, "ignored", "this line sets nothing: options are read in the first %d lines only", head).Hint = "move it to the top of the script"
		case isMeantAsOptions(line, Script):
			s.addWarning(Pos{Line: number}, "ignored", "this line sets nothing: it is not written like a line of options").Hint = optionsHint(ext)
		}
	}
	if s.Work && !s.Trusted {
		s.addNeed("work", "trusted", seen["work"])
	}
	if s.Workflows && !s.Work {
		s.addNeed("workflows", "work", seen["workflows"])
	}
}

// addNeed adds a problem for an option that has no meaning without another option.
func (s *State) addNeed(name, other string, pos Pos) {
	s.addProblem(pos, "option", "%s=true has no meaning without %s=true", name, other).Hint = "write both, or neither"
}

// optionsHint returns a hint that shows how to write options in a script with this extension.
func optionsHint(ext string) string {
	if ext == ".bat" {
		return "write rem raymond: NAME=VALUE on a separate line"
	}
	return "write # raymond: NAME=VALUE on a separate line"
}

// optionsLike matches a comment that looks like a line of options. The comment contains a word, which
// may be a misspelt raymond, before an option; or it begins with the word raymond and a colon or an
// equals sign.
var optionsLike = pattern(`(?i)(?:^\s*(?:@?rem\b|[#;:/<*!%])|\s#)\W*\b(\w{5,9})\b[\s:=]*\b(?:` + strings.Join(ScriptOptions(), "|") + `)\s*[:=]|^\s*(?:@?rem\b|[#;:/<*!%])\W*raymond\s*[:=]`)

// isMeantAsOptions reports whether a line was probably meant to set options. In a prompt, the
// word raymond alone is not enough, because a heading may begin with it.
func isMeantAsOptions(line string, k Kind) bool {
	m := optionsLike().FindStringSubmatch(line)
	return m != nil && (m[1] == "" && k == Script || distance(strings.ToLower(m[1]), "raymond") <= 2)
}

// commentIn returns the comment in a line of a script that consists of a comment only: the text
// after #, or after :: or rem in a batch file. For any other line, the boolean is false.
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

// scriptOptions are the options that a comment in a script may set, in the order of the
// documentation.
var scriptOptions = []key{
	{name: "timeout", read: func(v value) { v.state.Policy.Timeout = v.optionalDuration() }},
	{name: "idle_timeout", read: func(v value) { v.state.Policy.IdleTimeout = v.optionalDuration() }},
	{name: "many_forks", read: func(v value) { v.state.Policy.Transitions.ManyForks = v.boolean() }},
	{name: "trusted", read: func(v value) { v.state.Trusted = v.boolean() }},
	{name: "work", read: func(v value) { v.state.Work = v.boolean() }},
	{name: "workflows", read: func(v value) { v.state.Workflows = v.boolean() }},
	{name: "targets", read: func(v value) {
		v.state.Policy.Transitions.Targets = listOf(v.node.Value)
		for _, name := range v.state.Policy.Transitions.Targets {
			v.refer(name)
		}
	}},
	{name: "ask", read: func(v value) {
		v.state.Policy.Transitions.Asks = listOf(v.node.Value)
		for _, name := range v.state.Policy.Transitions.Asks {
			if !slices.Contains(addressingAttributes, name) {
				v.problem("option", "ask names %s, not where, from or untrusted", Quote(name))
			}
		}
	}},
	{name: "cd", read: func(v value) { v.state.Policy.Transitions.Dirs = v.boolean() }},
	{name: "job", read: value.readJob},
	{name: roleOnComment, read: value.readOnComment},
}

// setOptions reads the options in one comment. seen contains the positions of the options that
// were read before; setOptions adds to it.
func (s *State) setOptions(options string, pos Pos, seen map[string]Pos) {
	before := len(s.Problems)
	for _, option := range strings.Fields(options) {
		name, text, ok := strings.Cut(option, "=")
		known := named(scriptOptions, name)
		switch {
		case !ok:
			s.addProblem(pos, "option", "option %s is not written name=value", Quote(option))
		case seen[name].Line > 0:
			s.addProblem(pos, "option", "option %s appears twice", Quote(name))
		case known.name == "":
			hint := DidYouMean(name, ScriptOptions())
			if name == "cage" {
				hint = "scripts are confined unless they say trusted=true"
			}
			s.addProblem(pos, "option", "unknown option %s", Quote(name)).Hint = hint
		default:
			node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: pos.Line}
			if isBoolean(text) {
				node.Tag = "!!bool"
			}
			known.read(value{state: s, name: name, node: node})
		}
		seen[name] = pos
	}
	for i := range s.Problems[before:] {
		s.Problems[before+i].Code = "option"
	}
}

// parseDuration reads a Go duration above zero, without a sign.
func parseDuration(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0 && !strings.HasPrefix(s, "+")
}
