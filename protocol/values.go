package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// value is one value in a frontmatter, or of an option in a script. Each of its methods reads the
// value as one type. If the value has another type, the method adds a problem to the state and
// returns the zero value.
type value struct {
	state *State
	name  string // the key, or "an entry of KEY"; used in messages
	node  *yaml.Node
}

// problem adds a problem at the position of the value.
func (v value) problem(code, format string, args ...any) *Problem {
	return v.state.addProblem(PosOf(v.node), code, format, args...)
}

// refer records that the policy names another state.
func (v value) refer(name string) {
	v.state.References = append(v.state.References, Reference{Role: v.name, Name: strings.TrimSpace(name), Pos: PosOf(v.node)})
}

// entry returns a value inside v, for example an entry of a list. name describes it in messages.
func (v value) entry(name string, n *yaml.Node) value {
	return value{state: v.state, name: name, node: n}
}

// anyText reads a string without NUL characters.
func (v value) anyText() (string, bool) {
	switch n := v.node; {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
		problem := v.problem("wrong-type", "%s is %s, not a string", v.name, Describe(n))
		if n.Kind == yaml.ScalarNode && !isNull(n) {
			problem.Hint = "put it in quotes"
		}
	case strings.ContainsRune(n.Value, 0):
		v.problem("wrong-value", "%s has a NUL character", v.name)
	default:
		return n.Value, true
	}
	return "", false
}

// text reads a string that contains more than white space.
func (v value) text() (string, bool) {
	text, ok := v.anyText()
	if ok && strings.TrimSpace(text) == "" {
		v.problem("wrong-value", "%s is empty", v.name)
		return "", false
	}
	return text, ok
}

// texts reads a list of strings, none of which may be blank. For an empty list it returns an empty
// slice, not nil.
func (v value) texts() ([]string, bool) {
	if v.node.Kind != yaml.SequenceNode {
		v.problem("wrong-type", "%s is %s, not a list", v.name, Describe(v.node)).Hint = "write " + v.name + ": […]"
		return nil, false
	}
	list := []string{}
	for _, item := range v.node.Content {
		if text, ok := v.entry("an entry of "+v.name, item).text(); ok {
			list = append(list, text)
		}
	}
	if len(list) < len(v.node.Content) {
		return nil, false
	}
	return list, true
}

// tools reads a list of tools, and warns about names that look like a misspelt known tool.
func (v value) tools() []string {
	list, _ := v.texts()
	for i, entry := range list {
		name, _, _ := strings.Cut(entry, "(")
		near := Nearest(name, tools)
		if near != "" && !slices.Contains(tools, name) && distance(strings.ToLower(name), strings.ToLower(near)) <= 1+len(name)/6 {
			v.state.addWarning(PosOf(v.node.Content[i]), "unknown-tool", "%s is not a known tool", Quote(name)).Hint = "did you mean " + near
		}
	}
	return list
}

// tools lists tools of Claude Code. Workflows use these names for all agent CLIs. The list is not
// complete: other tools exist, and MCP servers add more.
var tools = []string{
	"Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS", "LSP", "Monitor", "MultiEdit",
	"NotebookEdit", "NotebookRead", "Read", "Skill", "SlashCommand", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate",
	"TodoRead", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Write",
}

// choice reads a string that must be one of words.
func (v value) choice(words []string) (string, bool) {
	text, ok := v.text()
	if ok && !slices.Contains(words, text) {
		problem := v.problem("wrong-value", "%s is %s, not one of %s", v.name, Quote(text), strings.Join(words, ", "))
		problem.Hint = DidYouMean(text, words)
		return "", false
	}
	return text, ok
}

// model reads the name of a model.
func (v value) model() string {
	text, ok := v.text()
	if ok && !IsModel(text) {
		v.problem("wrong-value", "%s is %s, not %s", v.name, Quote(text), ModelNames)
	}
	return text
}

// verb reads the name of a transition tag.
func (v value) verb() (Verb, bool) {
	text, ok := v.choice(verbNames())
	return Verb(text), ok
}

// duration reads a Go duration above zero.
func (v value) duration() (time.Duration, bool) {
	if v.node.Kind == yaml.ScalarNode && v.node.ShortTag() == "!!str" {
		if d, ok := parseDuration(v.node.Value); ok {
			return d, true
		}
	}
	v.problem("wrong-value", "%s is %s, not a duration above zero", v.name, Describe(v.node)).Hint =
		"write it like 90s, 10m or 1h30m"
	return 0, false
}

// optionalDuration reads a duration above zero. It returns nil if the value is wrong.
func (v value) optionalDuration() *time.Duration {
	if d, ok := v.duration(); ok {
		return &d
	}
	return nil
}

// count reads a whole number from 1 to most, written in plain decimal.
func (v value) count(most int) int {
	n := v.node
	i, err := strconv.Atoi(n.Value)
	plain := n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" && strconv.Itoa(i) == n.Value
	if err != nil || !plain || i < 1 || i > most {
		v.problem("wrong-value", "%s is %s, not a whole number from 1 to %d", v.name, Describe(n), most)
		return 0
	}
	return i
}

// boolean reads true or false.
func (v value) boolean() bool {
	if v.node.Kind != yaml.ScalarNode || v.node.ShortTag() != "!!bool" {
		v.problem("wrong-type", "%s is %s, not true or false", v.name, Describe(v.node))
		return false
	}
	return strings.EqualFold(v.node.Value, "true")
}

// addProblem adds a problem to the state, which then can't be run. The caller may add a hint to the
// returned Problem.
func (s *State) addProblem(pos Pos, code, format string, args ...any) *Problem {
	s.Problems = append(s.Problems, Problem{File: s.Name, Pos: pos, Code: code, Message: fmt.Sprintf(format, args...)})
	return &s.Problems[len(s.Problems)-1]
}

// addWarning adds a warning that lint reports about the state. The caller may add a hint to the
// returned Problem.
func (s *State) addWarning(pos Pos, code, format string, args ...any) *Problem {
	s.Warnings = append(s.Warnings, Problem{File: s.Name, Pos: pos, Code: code, Message: fmt.Sprintf(format, args...)})
	return &s.Warnings[len(s.Warnings)-1]
}
