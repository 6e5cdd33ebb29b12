// Package simulate runs a workflow with scripted replies in the place of the
// agents: the same engine, the same scripts, no tokens and no network. What
// happened is compared with what the author of the replies expects.
package simulate

import (
	"errors"
	"io"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/state"
)

// Replies is a replies file.
type Replies struct {
	Input Text            `yaml:"input,omitempty"` // payload of the first state, as --input
	Meta  map[string]Text `yaml:"meta,omitempty"`  // template variables of every state, as --meta
	// States has the replies of each prompt state, by file name, in the order of
	// its invocations: reminders, retries and further attempts included. A key
	// AGENT/STATE is for one agent and overrides the state's own list.
	States map[string][]Reply `yaml:"states,omitempty"`
	// Answers are what people answer, in the order of the questions: a text, or one with
	// the agent whose next question it answers. When they are used up, a question waits
	// for its timeout, and one without a timeout suspends the run.
	Answers []Answer `yaml:"answers,omitempty"`
	Expect  *Expect  `yaml:"expect,omitempty"` // what should come of the run; without it only the run's own status counts

	root *yaml.Node // of the file
}

// Reply is what one invocation of an agent brings.
type Reply struct {
	Text   Text          `yaml:"text,omitempty"`   // the final message; nothing when it is left out
	Cost   Cost          `yaml:"cost,omitempty"`   // in US dollars
	Denied []Text        `yaml:"denied,omitempty"` // tool uses that were refused
	Error  *Error        `yaml:"error,omitempty"`  // the invocation fails, and has neither text nor checks
	Delay  time.Duration `yaml:"delay,omitempty"`  // how long it takes on the simulated clock, as in 90s
	// Checks are the exit codes of the state's done_when commands after this
	// reply; the last one also counts for all further commands. Without them the
	// commands run, and protected files are looked at.
	Checks []int `yaml:"checks,omitempty"`
}

// Error is an invocation that fails.
type Error struct {
	Class   string `yaml:"class"`   // what kind of failure: transient ones and timeouts are retried, those of the service waited out
	Message Text   `yaml:"message"` // what went wrong
}

// Answer is what somebody answers to a question. In the file it is a text when it
// names no agent.
type Answer struct {
	Agent string `yaml:"agent,omitempty"` // that asks; "" for any
	Text  Text   `yaml:"text"`            // what is answered
}

// Text is what somebody says or is told, byte for byte.
type Text string

// Cost is an amount of money. In the file it is a number of US dollars.
type Cost state.USD

// Path is the states that agents went through, in order, by agent. In the file
// it may be a list: the path of the first agent.
type Path map[string][]string

// Expect is what should come of the run. What is left out may be anything, but a
// run of which neither status nor outcome is expected must be completed.
type Expect struct {
	Status  string `yaml:"status,omitempty"`  // how the run ends
	Outcome string `yaml:"outcome,omitempty"` // the same, which distinguishes a clean run from one with flakes
	Result  *Text  `yaml:"result,omitempty"`  // of the first agent, byte for byte
	Path    Path   `yaml:"path,omitempty"`    // the states an agent went through, in order: of main, or a map by agent
	Cost    *Cost  `yaml:"cost,omitempty"`    // of the whole run, in US dollars
}

// maxCode is the largest exit code of a process.
const maxCode = 255

// Write writes a replies file.
func (r *Replies) Write(w io.Writer) error {
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	return errors.Join(enc.Encode(r), enc.Close())
}

// MarshalYAML implements yaml.Marshaler. Some texts are not read back as they were
// from what the YAML library writes by itself; those get quotes.
func (t Text) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(t)}
	lines := strings.Contains(n.Value, "\n")
	switch {
	case n.Value == "<<", lines && strings.ContainsAny(n.Value[:1], " \t\n"):
		n.Style = yaml.DoubleQuotedStyle
	case lines:
		n.Style = yaml.LiteralStyle
	}
	return n, nil
}

// MarshalYAML implements yaml.Marshaler.
func (c Cost) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: state.USD(c).String()}, nil
}

// MarshalYAML implements yaml.Marshaler.
func (a Answer) MarshalYAML() (any, error) {
	if a.Agent == "" {
		return a.Text, nil
	}
	type whole Answer
	return whole(a), nil
}

// MarshalYAML implements yaml.Marshaler.
func (p Path) MarshalYAML() (any, error) {
	if main, ok := p["main"]; ok && len(p) == 1 {
		return main, nil
	}
	return map[string][]string(p), nil
}
