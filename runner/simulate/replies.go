// Package simulate runs a workflow with scripted replies instead of agent CLIs. It uses the same
// engine and runs the same scripts, but needs no tokens and no network. It compares the run with
// the expectations in the replies file.
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
	Input Text            `yaml:"input,omitempty"` // input of the first state, like the flag --input
	Meta  map[string]Text `yaml:"meta,omitempty"`  // template variables for every state, like the flag --meta
	// States contains the replies for each prompt state, by file name. They are used in the order
	// of the state's invocations, which include reminders, retries and further attempts. Replies
	// with the key AGENT/STATE are for one agent only, and are used first.
	States map[string][]Reply `yaml:"states,omitempty"`
	// Answers are used in the order of the questions. An answer may name an agent; it is then only
	// used for questions of that agent. When no answer is left, a question waits for its timeout.
	// If it has no timeout, the run is suspended.
	Answers []Answer `yaml:"answers,omitempty"`
	// Expect contains the expectations. If nil, only the status of the run counts.
	Expect *Expect `yaml:"expect,omitempty"`

	root *yaml.Node // root node of the file
}

// Reply is the result of one invocation of an agent.
type Reply struct {
	Text   Text   `yaml:"text,omitempty"`   // final message; empty if missing
	Cost   Cost   `yaml:"cost,omitempty"`   // in US dollars
	Denied []Text `yaml:"denied,omitempty"` // tool calls that are reported as denied
	// Error makes the invocation fail. Text and Checks are then ignored.
	Error *Error        `yaml:"error,omitempty"`
	Delay time.Duration `yaml:"delay,omitempty"` // duration on the simulated clock, such as "90s"
	// Checks are the exit codes of the state's done_when commands after this reply. If there are
	// more commands than codes, the last code is used for the remaining commands. Without Checks,
	// the commands are run, and protected files are checked.
	Checks []int `yaml:"checks,omitempty"`
}

// Error describes the failure of an invocation.
type Error struct {
	// Class is the class of the failure. The run retries after transient failures and timeouts, and
	// waits after failures of the service.
	Class   string `yaml:"class"`
	Message Text   `yaml:"message"` // reason for the failure
}

// Answer is a user's answer to a question. If Agent is empty, the file contains only the text.
type Answer struct {
	// Agent is the agent whose question is answered. If empty, the answer is for any agent.
	Agent string `yaml:"agent,omitempty"`
	Text  Text   `yaml:"text"` // text of the answer
}

// Text is a text that Write and Read preserve byte for byte.
type Text string

// Cost is an amount in US dollars. In the file it is a number.
type Cost state.USD

// Path contains, for each agent, the states that the agent was in, in order. In the file it may be
// a list, which is the path of the agent main.
type Path map[string][]string

// Expect contains the expectations for a run. A field that is not set is not checked. If neither
// Status nor Outcome is set, the run is expected to complete.
type Expect struct {
	Status string `yaml:"status,omitempty"` // status of the run at its end
	// Outcome is like Status, but differs for a run in which attempts had to be repeated.
	Outcome string `yaml:"outcome,omitempty"`
	Result  *Text  `yaml:"result,omitempty"` // result of the agent main, compared byte for byte
	// Path contains the states that agents were in, in order: a list for the agent main, or a map
	// by agent.
	Path Path  `yaml:"path,omitempty"`
	Cost *Cost `yaml:"cost,omitempty"` // cost of the whole run, in US dollars
}

// maxCode is the largest exit code of a process.
const maxCode = 255

// Write writes the replies file as YAML.
func (r *Replies) Write(w io.Writer) error {
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	return errors.Join(enc.Encode(r), enc.Close())
}

// MarshalYAML implements yaml.Marshaler. It quotes texts that the YAML library would otherwise
// write in a form that is read back as another text.
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
