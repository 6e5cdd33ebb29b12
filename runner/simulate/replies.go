// Package simulate runs a workflow with scripted replies in the place of the
// agents: the same engine, the same scripts, no tokens and no network. What
// happened is compared with what the author of the replies expects.
package simulate

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// maxReplies bounds a replies file, in bytes.
const maxReplies = 16 << 20

// Replies is a replies file.
type Replies struct {
	// Input and Meta are for the run, as the flags of the same names.
	Input string            `yaml:"input,omitempty"`
	Meta  map[string]string `yaml:"meta,omitempty"`
	// States has the replies of each prompt state, by file name, in the order of
	// its invocations: reminders, retries and further attempts included. A key
	// AGENT/STATE is for one agent and goes before the state's own list.
	States map[string][]Reply `yaml:"states"`
	Expect *Expect            `yaml:"expect,omitempty"`
}

// Reply is what one invocation of an agent brings.
type Reply struct {
	Text   string   `yaml:"text,omitempty"`
	Cost   Cost     `yaml:"cost,omitempty"`   // US dollars
	Denied []string `yaml:"denied,omitempty"` // tool uses that were refused
	Error  *Error   `yaml:"error,omitempty"`  // instead of a text
	Delay  Delay    `yaml:"delay,omitempty"`  // on the simulated clock
	// Checks are the exit codes of the state's done_when commands after this
	// reply. Without them the commands run.
	Checks []int `yaml:"checks,omitempty"`
}

// Error is an invocation that fails.
type Error struct {
	Class   string `yaml:"class"` // transient, timeout, fatal, usage_limit, over_budget
	Message string `yaml:"message"`
}

// Cost is an amount in US dollars.
type Cost struct{ state.USD }

// Delay is a Go duration.
type Delay struct{ time.Duration }

// Path is the states that agents went through, in order: of the first agent, or
// by agent.
type Path map[string][]string

// Expect is what should come of the run. Fields that are left out may be anything.
type Expect struct {
	Status  string  `yaml:"status,omitempty"`
	Outcome string  `yaml:"outcome,omitempty"`
	Result  *string `yaml:"result,omitempty"`
	Path    Path    `yaml:"path,omitempty"`
	Cost    *Cost   `yaml:"cost,omitempty"`
}

// classes are the classes of failure that a reply may have.
var classes = []runner.Class{runner.Transient, runner.TimedOut, runner.Fatal, runner.UsageLimit, runner.OverBudget}

// Read reads a replies file strictly. Its errors name the line.
func Read(r io.Reader) (*Replies, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxReplies+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxReplies {
		return nil, fmt.Errorf("the file has more than %d bytes", maxReplies)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	out := new(Replies)
	if err := dec.Decode(out); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one YAML document")
	}
	return out, out.check()
}

func (r *Replies) check() error {
	if len(r.States) == 0 && r.Expect == nil {
		return errors.New("the file has neither states nor expect")
	}
	for name, list := range r.States {
		for i, reply := range list {
			if err := reply.check(); err != nil {
				return fmt.Errorf("states: %s: reply %d: %w", name, i+1, err)
			}
		}
	}
	return nil
}

func (r *Reply) check() error {
	if r.Error == nil {
		return nil
	}
	if r.Text != "" {
		return errors.New("has both text and error")
	}
	if !slices.Contains(classes, runner.Class(r.Error.Class)) {
		return fmt.Errorf("error: class %q is none of %v", r.Error.Class, classes)
	}
	return nil
}

// scalar returns the text of a YAML value that must be a single one.
func scalar(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", fmt.Errorf("line %d: want a value", n.Line)
	}
	return n.Value, nil
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *Cost) UnmarshalYAML(n *yaml.Node) error {
	text, err := scalar(n)
	if err != nil {
		return err
	}
	if c.USD, err = state.ParseUSD(text); err != nil {
		return fmt.Errorf("line %d: cost %q: %w", n.Line, text, err)
	}
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (c Cost) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: c.String()}, nil
}

// IsZero implements yaml.IsZeroer.
func (c Cost) IsZero() bool { return c.USD == 0 }

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Delay) UnmarshalYAML(n *yaml.Node) error {
	text, err := scalar(n)
	if err != nil {
		return err
	}
	if d.Duration, err = time.ParseDuration(text); err != nil || d.Duration < 0 {
		return fmt.Errorf("line %d: delay %q is no duration such as 90s", n.Line, text)
	}
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (d Delay) MarshalYAML() (any, error) { return d.String(), nil }

// IsZero implements yaml.IsZeroer.
func (d Delay) IsZero() bool { return d.Duration == 0 }

// UnmarshalYAML implements yaml.Unmarshaler: a list is the path of main.
func (p *Path) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		var list []string
		if err := n.Decode(&list); err != nil {
			return err
		}
		*p = Path{"main": list}
		return nil
	}
	byAgent := map[string][]string{}
	if err := n.Decode(&byAgent); err != nil {
		return err
	}
	*p = byAgent
	return nil
}
