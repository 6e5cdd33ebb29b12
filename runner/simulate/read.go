package simulate

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// reader reads YAML into the types of a replies file, and notes everything that
// is wrong. It takes nothing for something else: no number for a string, no
// null.
type reader struct {
	problems []protocol.Problem
	names    []name
}

// name is a place in a replies file that names a state.
type name struct {
	pos   protocol.Pos
	state string
	asked bool // replies are given for it, so that it must be a prompt
}

// special is a type that is not read as its kind says.
type special interface {
	read(r *reader, n *yaml.Node, what string)
}

// checked is a type of which more can be wrong than its parts.
type checked interface {
	check(r *reader, n *yaml.Node)
}

func (r *reader) problem(n *yaml.Node, code, format string, args ...any) *protocol.Problem {
	r.problems = append(r.problems, protocol.Problem{
		Pos: protocol.PosOf(n), Code: code, Message: fmt.Sprintf(format, args...),
	})
	return &r.problems[len(r.problems)-1]
}

// parse returns the one document of the file; nil after a problem.
func (r *reader) parse(data []byte) *yaml.Node {
	top := &yaml.Node{Line: 1}
	if len(data) > maxReplies {
		r.problem(top, "too-big", "the file is over %d MiB", maxReplies>>20)
		return nil
	}
	root, problem := protocol.ParseYAML(string(data))
	switch {
	case problem != nil:
		r.problems = append(r.problems, *problem)
	case root == nil:
		r.problem(top, "empty", "the file is empty")
	}
	return root
}

// read reads a node into what to points to; what names it in messages.
func (r *reader) read(n *yaml.Node, what string, to any) {
	before := len(r.problems)
	r.value(n, what, reflect.ValueOf(to).Elem())
	if c, ok := to.(checked); ok && len(r.problems) == before {
		c.check(r, n)
	}
}

func (r *reader) value(n *yaml.Node, what string, v reflect.Value) {
	if s, ok := v.Addr().Interface().(special); ok {
		s.read(r, n, what)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.read(n, what, v.Interface())
	case reflect.Struct:
		r.fields(n, what, v)
	case reflect.Map:
		r.entries(n, what, v)
	case reflect.Slice:
		r.items(n, what, v)
	case reflect.String:
		v.SetString(r.text(n, what))
	case reflect.Int:
		v.SetInt(int64(r.number(n, what)))
	default:
		panic("internal error: a replies file can't hold a " + v.Type().String())
	}
}

// fields reads the keys of a struct.
func (r *reader) fields(n *yaml.Node, what string, v reflect.Value) {
	known, names := map[string]int{}, []string{}
	for i := range v.NumField() {
		if key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); key != "" {
			known[key] = i
			names = append(names, key)
		}
	}
	r.pairs(n, what, func(key, value *yaml.Node) {
		i, ok := known[key.Value]
		if !ok {
			r.problem(key, "unknown-key", "unknown key %q in %s", key.Value, what).Hint = "its keys are " + strings.Join(names, ", ")
			return
		}
		r.read(value, key.Value, v.Field(i).Addr().Interface())
	})
}

// entries reads a map.
func (r *reader) entries(n *yaml.Node, what string, v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	r.pairs(n, what, func(key, value *yaml.Node) {
		e := reflect.New(v.Type().Elem())
		r.read(value, key.Value, e.Interface())
		v.SetMapIndex(reflect.ValueOf(key.Value), e.Elem())
	})
}

// items reads a list, which must not be empty.
func (r *reader) items(n *yaml.Node, what string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.problem(n, "wrong-type", "%s is %s, want a list that is not empty", what, protocol.Describe(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		r.read(item, fmt.Sprintf("entry %d of %s", i+1, what), v.Index(i).Addr().Interface())
	}
}

// pairs calls f for the keys of a map, which must be strings.
func (r *reader) pairs(n *yaml.Node, what string, f func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.problem(n, "wrong-type", "%s is %s, want a map", what, protocol.Describe(n))
		return
	}
	eachPair(n, func(key, value *yaml.Node) {
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Value == "" {
			r.problem(key, "wrong-type", "a key of %s is %s, want a string", what, protocol.Describe(key))
			return
		}
		f(key, value)
	})
}

func (r *reader) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		p := r.problem(n, "wrong-type", "%s is %s, want a string", what, protocol.Describe(n))
		if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
			p.Hint = "put it in quotes"
		}
	}
	return n.Value
}

func (r *reader) number(n *yaml.Node, what string) int {
	i, err := strconv.Atoi(n.Value)
	if err != nil || n.ShortTag() != "!!int" || strconv.Itoa(i) != n.Value {
		r.problem(n, "wrong-type", "%s is %s, want a whole number", what, protocol.Describe(n))
	}
	return i
}

func (c *Cost) read(r *reader, n *yaml.Node, what string) {
	usd, err := state.ParseUSD(n.Value)
	if tag := n.ShortTag(); err != nil || n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" {
		r.problem(n, "wrong-value", "%s is %s, want a number of US dollars such as 0.25", what, protocol.Describe(n))
	}
	*c = Cost(usd)
}

func (d *Delay) read(r *reader, n *yaml.Node, what string) {
	v, err := time.ParseDuration(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || strings.HasPrefix(n.Value, "-") {
		r.problem(n, "wrong-value", "%s is %s, want a duration such as 90s or 10m", what, protocol.Describe(n))
	}
	*d = Delay(v)
}

func (a *Answer) read(r *reader, n *yaml.Node, what string) {
	if n.Kind != yaml.MappingNode {
		a.Text = Text(r.text(n, what))
		return
	}
	r.fields(n, what, reflect.ValueOf(a).Elem())
	if agent := protocol.Entry(n, "agent"); agent != nil {
		r.checkAgent(agent, a.Agent)
	}
	if protocol.Entry(n, "text") == nil {
		r.problem(n, "wrong-value", "%s has no text", what)
	}
}

func (p *Path) read(r *reader, n *yaml.Node, what string) {
	*p = Path{}
	if n.Kind == yaml.SequenceNode {
		(*p)["main"] = r.path(n, what)
		return
	}
	r.pairs(n, what, func(key, value *yaml.Node) {
		r.checkAgent(key, key.Value)
		(*p)[key.Value] = r.path(value, key.Value)
	})
}

// path reads a list of states.
func (r *reader) path(n *yaml.Node, what string) (list []string) {
	r.value(n, what, reflect.ValueOf(&list).Elem())
	for i, st := range list {
		if !printable(st) {
			r.problem(n.Content[i], "wrong-value", "%q is no name of a state", st)
		}
		r.names = append(r.names, name{protocol.PosOf(n.Content[i]), st, false})
	}
	return list
}

func (r *reader) checkAgent(n *yaml.Node, name string) {
	if !agentName().MatchString(name) {
		r.problem(n, "wrong-value", "%q is no name of an agent", name).Hint = "the first is main, those it forks are main_NAME1 …"
	}
}

func (*Replies) check(rd *reader, n *yaml.Node) {
	eachPair(protocol.Entry(n, "meta"), func(key, _ *yaml.Node) {
		if !metaKey().MatchString(key.Value) {
			rd.problem(key, "wrong-value", "meta key %q has more than letters, digits and _", key.Value)
		}
	})
	eachPair(protocol.Entry(n, "states"), func(key, _ *yaml.Node) {
		agent, st, both := strings.Cut(key.Value, "/")
		if !both {
			agent, st = "main", key.Value
		}
		if !agentName().MatchString(agent) || st == "" || strings.Contains(st, "/") || !printable(key.Value) {
			rd.problem(key, "wrong-value", "%q is neither STATE nor AGENT/STATE", key.Value)
		}
		rd.names = append(rd.names, name{protocol.PosOf(key), st, true})
	})
}

// printable reports whether a name has no control characters.
func printable(name string) bool {
	return name != "" && strings.IndexFunc(name, unicode.IsControl) < 0
}

func eachPair(n *yaml.Node, f func(key, value *yaml.Node)) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		f(n.Content[i], n.Content[i+1])
	}
}

func (p *Reply) check(r *reader, n *yaml.Node) {
	if p.Error != nil && (protocol.Entry(n, "text") != nil || p.Checks != nil) {
		r.problem(n, "wrong-value", "a reply has an error and text or checks too").Hint = "an invocation that fails has no answer"
	}
	if len(p.Checks) > maxChecks {
		r.problem(n, "wrong-value", "checks has %d exit codes, want at most %d", len(p.Checks), maxChecks)
	}
	for _, code := range p.Checks {
		if code < 0 || code > maxCode {
			r.problem(n, "wrong-value", "%d is no exit code, want 0 to %d", code, maxCode)
		}
	}
}

func (e *Error) check(r *reader, n *yaml.Node) {
	r.oneOf(n, "class", e.Class, Classes())
	if strings.TrimSpace(string(e.Message)) == "" {
		r.problem(n, "wrong-value", "the error has no message")
	}
}

func (e *Expect) check(r *reader, n *yaml.Node) {
	if protocol.Entry(n, "status") != nil {
		r.oneOf(n, "status", e.Status, Statuses())
	}
	if protocol.Entry(n, "outcome") != nil {
		r.oneOf(n, "outcome", e.Outcome, Outcomes())
	}
}

// oneOf checks a key of a map that takes one of some words.
func (r *reader) oneOf(n *yaml.Node, key, got string, words []string) {
	if slices.Contains(words, got) {
		return
	}
	at := protocol.Entry(n, key)
	if at == nil {
		r.problem(n, "wrong-value", "the error has no %s", key).Hint = "want one of " + strings.Join(words, ", ")
		return
	}
	r.problem(at, "wrong-value", "%s is %q, want one of %s", key, got, strings.Join(words, ", "))
}
