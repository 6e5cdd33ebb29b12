// Package program runs agent CLIs: it locates a CLI and checks its version, starts it for an order, and
// explains why a process ended without an answer.
//
// It contains the parts that all agent CLIs share. The package of each CLI knows
// its arguments and its output.
package program

import (
	"fmt"
	"strings"

	untrusted "github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// NoAnswer is the answer of an invocation whose process did not start. Its cost is zero.
var NoAnswer = runner.Answer{Cost: state.Cost{Silent: true}}

// MaxMessage is the longest final message that is accepted, in bytes.
const MaxMessage = 10 << 20

// Message is a message that is being received, of at most MaxMessage bytes. The zero value is empty.
type Message struct{ strings.Builder }

// Add appends a text. If the message would become too long, Add returns false and appends nothing.
func (m *Message) Add(text string) bool {
	if m.Len()+len(text) > MaxMessage {
		return false
	}
	m.WriteString(text)
	return true
}

// TooLongFailure returns the failure of an invocation whose message is longer than MaxMessage.
func TooLongFailure() *runner.Failure { return Fatal("the message is over %d MiB", MaxMessage>>20) }

// Hider returns o.Hide or, if that is nil, a function that returns its argument.
func Hider(o runner.Order) func(string) string {
	if o.Hide == nil {
		return func(text string) string { return text }
	}
	return o.Hide
}

// OneLine returns a text on one line of at most width characters. Secrets must be hidden before,
// because a secret that is cut in half isn't recognized.
func OneLine(s string, width int) string { return untrusted.Brief(s, width) }

// LateExitNotes returns notes about a process that didn't exit cleanly after its complete answer.
func LateExitNotes(exit proc.Exit, o runner.Order) (notes []string) {
	switch {
	case exit.Ended == proc.ByLateExit:
		return []string{"the agent CLI continued after its result and was ended"}
	case exit.Ended != proc.ByItself:
		return []string{fmt.Sprintf("the agent CLI was ended (%s) after its result", exit.Ended)}
	case exit.Code != 0:
		return []string{fmt.Sprintf("the agent CLI ended with %s after its result was complete", DescribeExit(exit, o))}
	}
	return nil
}
