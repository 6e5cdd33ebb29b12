// Package simulate runs a workflow with scripted replies instead of agent CLIs: with the same
// engine and the same scripts, but without tokens and network. It compares the run with the
// expectations in the replies file.
package simulate

import (
	"errors"
	"io"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/state"
)

// Replies is the content of a replies file.
type Replies struct {
	Input Text            `yaml:"input,omitempty"` // input of the first state, as with --input
	Meta  map[string]Text `yaml:"meta,omitempty"`  // template variables of every state, as with --meta
	// States has the replies of each prompt state, by file name, in the order of its invocations,
	// including reminders, retries and further attempts. The key AGENT/STATE has the replies for
	// one agent, which take precedence.
	States map[string][]Reply `yaml:"states,omitempty"`
	// Answers are used in the order of the questions: a text, or a text with the agent whose next
	// question it answers. When all are used, a question waits for its timeout; one without a
	// timeout suspends the run.
	Answers []Answer `yaml:"answers,omitempty"`
	Expect  *Expect  `yaml:"expect,omitempty"` // expectations; without them only the run's own status matters

	root *yaml.Node // root node of the file
}

// Reply is the result of one invocation of an agent.
type Reply struct {
	Text   Text          `yaml:"text,omitempty"`   // final message; empty if left out
	Cost   Cost          `yaml:"cost,omitempty"`   // in US dollars
	Denied []Text        `yaml:"denied,omitempty"` // tool uses that were refused
	Error  *Error        `yaml:"error,omitempty"`  // the invocation fails, without text and checks
	Delay  time.Duration `yaml:"delay,omitempty"`  // duration on the simulated clock, such as 90s
	// Checks are the exit codes of the state's done_when commands after this reply; the last one is
	// used for all further commands. Without Checks the commands run, and protected files are
	// checked.
	Checks []int `yaml:"checks,omitempty"`
}

// Error is the failure of an invocation.
type Error struct {
	Class   string `yaml:"class"`   // class of the failure: transient failures and timeouts are retried, service failures are waited out
	Message Text   `yaml:"message"` // reason of the failure
}

// Answer is a person's answer to a question. In the file it is a string if it names no agent.
type Answer struct {
	Agent string `yaml:"agent,omitempty"` // agent whose question it answers; "" for any
	Text  Text   `yaml:"text"`            // text of the answer
}

// Text is a text that is kept byte for byte.
type Text string

// Cost is an amount in US dollars, a number in the file.
type Cost state.USD

// Path has the states that each agent went through, in order. In the file it may be a list, which
// is the path of the first agent.
type Path map[string][]string

// Expect has the expectations for a run. A field that is left out is not checked, but if both
// status and outcome are left out, the run must complete.
type Expect struct {
	Status  string `yaml:"status,omitempty"`  // status of the run at its end
	Outcome string `yaml:"outcome,omitempty"` // like status, but tells a clean run from one with flaky attempts
	Result  *Text  `yaml:"result,omitempty"`  // result of the first agent, byte for byte
	Path    Path   `yaml:"path,omitempty"`    // states that agents went through, in order: of main, or a map by agent
	Cost    *Cost  `yaml:"cost,omitempty"`    // cost of the whole run, in US dollars
}

// maxCode is the largest exit code of a process.
const maxCode = 255

// Write writes a replies file.
func (r *Replies) Write(w io.Writer) error {
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	return errors.Join(enc.Encode(r), enc.Close())
}

// MarshalYAML implements yaml.Marshaler. It quotes the texts that the YAML library would otherwise
// write in a form that reads back differently.
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
