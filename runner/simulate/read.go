package simulate

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/protocol/schema"
	"github.com/raymond-action/raymond-action/state"
)

// maxReplies is the maximum size of a replies file in bytes.
const maxReplies = 16 << 20

// schemaText is the JSON schema of replies files. It is also published as
// docs/schema/replies.schema.json.
//
//go:embed replies.schema.json
var schemaText string

// repliesSchema parses schemaText when it is first called.
var repliesSchema = sync.OnceValue(func() *schema.Schema {
	s, _ := schema.Parse(schemaText) // the schema is valid
	return s
})

// Read reads and validates a replies file. The problems are the author's mistakes in the file, with
// their positions. If there are any, the returned replies are nil. An error means that the file
// could not be read.
func Read(in io.Reader) (*Replies, []protocol.Problem, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxReplies+1))
	if err != nil {
		return nil, nil, err
	}
	root, problem := protocol.ParseYAML(string(data))
	switch {
	case len(data) > maxReplies:
		problem = &protocol.Problem{Code: "too-big", Message: fmt.Sprintf("the file is over %d MiB", maxReplies>>20)}
	case problem == nil && root == nil:
		problem = &protocol.Problem{Pos: protocol.Pos{Line: 1}, Code: "empty", Message: "the file is empty"}
	}
	if problem != nil {
		return nil, []protocol.Problem{*problem}, nil
	}
	out := &Replies{root: root}
	var value any
	err = root.Decode(&value)
	text, jsonErr := json.Marshal(value)
	if err = errors.Join(err, jsonErr); err != nil {
		err = fmt.Errorf("the file can't be converted to JSON: %w", err)
	} else {
		err = json.Unmarshal(text, &value)
	}
	if err == nil {
		if wrong := repliesSchema().CheckValue(value); wrong != nil {
			return nil, problemsOf(root, wrong), nil
		}
		err = root.Decode(out)
	}
	if err != nil {
		return nil, []protocol.Problem{{Pos: protocol.PosOf(root), Code: "wrong-value", Message: err.Error()}}, nil
	}
	return out, nil, nil
}

// problemsOf converts violations of the schema to problems, sorted by position.
func problemsOf(root *yaml.Node, all []schema.Violation) []protocol.Problem {
	var problems []protocol.Problem
	for _, v := range all {
		at, hint := nodeAt(root, v), v.Description
		// The description in the schema names the valid keys.
		words := strings.FieldsFunc(v.Description, func(r rune) bool { return !unicode.IsLetter(r) })
		if near := protocol.DidYouMean(at.Value, words); near != "" && strings.HasSuffix(v.Rule, "/additionalProperties") {
			hint = near + "; " + hint
		}
		problems = append(problems, protocol.Problem{Pos: protocol.PosOf(at), Code: "wrong-value", Hint: hint,
			Message: cmp.Or(strings.TrimPrefix(v.Pointer, "/"), "the file") + ": " + v.Message})
	}
	slices.SortStableFunc(problems, func(a, b protocol.Problem) int { return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col) })
	return problems
}

// pointerUnescaper unescapes one element of a JSON pointer.
var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// nodeAt returns the YAML node that violates the schema. If the violation's message quotes a key of
// that node, it returns the key instead.
func nodeAt(n *yaml.Node, v schema.Violation) *yaml.Node {
	for _, name := range strings.Split(v.Pointer, "/")[1:] {
		next := protocol.MapValue(n, pointerUnescaper.Replace(name))
		if i, err := strconv.Atoi(name); err == nil && n.Kind == yaml.SequenceNode {
			next = n.Content[i]
		}
		if next == nil { // the pointer was truncated because it was too long
			return n
		}
		n = next
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if strings.Contains(v.Message, "'"+n.Content[i].Value+"'") {
			return n.Content[i]
		}
	}
	return n
}

// Check compares a replies file with a workflow. It returns a problem for each key with replies for
// a state that does not exist or is not a prompt, and for each expected state that does not exist.
func (r *Replies) Check(w *protocol.Workflow) []protocol.Problem {
	var problems []protocol.Problem
	check := func(n *yaml.Node, name string, isAsked bool) {
		st, ok := w.State(name)
		p := protocol.Problem{Pos: protocol.PosOf(n), Code: "no-state", Message: fmt.Sprintf("the workflow has no state %q", name)}
		switch full, other := w.Resolve(name); {
		case ok && isAsked && st.Kind != protocol.Prompt:
			p.Message, p.Hint = name+" is a script, and scripts run for real", "only prompts have replies"
		case ok:
			return
		case other == nil:
			p.Hint = "write " + full
		}
		problems = append(problems, p)
	}
	states, path := entry(r.root, "states"), entry(entry(r.root, "expect"), "path")
	for i := 0; i < len(states.Content); i += 2 {
		key := states.Content[i]
		check(key, key.Value[strings.LastIndex(key.Value, "/")+1:], true)
	}
	for _, n := range append(path.Content, path) { // path is either a list, or a map with a list for each agent
		for _, st := range n.Content {
			if n.Kind == yaml.SequenceNode {
				check(st, st.Value, false)
			}
		}
	}
	return problems
}

// entry returns the value of a key in a map. If the key does not exist, it returns an empty node.
func entry(n *yaml.Node, k string) *yaml.Node { return cmp.Or(protocol.MapValue(n, k), &yaml.Node{}) }

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *Cost) UnmarshalYAML(n *yaml.Node) error {
	usd, err := state.ParseUSD(n.Value)
	if err != nil {
		return fmt.Errorf("cost in line %d: %w", n.Line, err)
	}
	*c = Cost(usd)
	return nil
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (a *Answer) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&a.Text)
	}
	type whole Answer
	return n.Decode((*whole)(a))
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (p *Path) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		var states []string
		err := n.Decode(&states)
		*p = Path{"main": states}
		return err
	}
	return n.Decode((*map[string][]string)(p))
}
