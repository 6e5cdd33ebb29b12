// Package program runs agent CLIs: it finds one and checks its version, starts it for an order,
// and says in words what a process that ended without an answer means.
//
// It has what is the same for all agent CLIs, and knows none of them: what they print, and
// which arguments they take, is the matter of the package of each.
package program

import (
	"fmt"
	"strings"

	untrusted "github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// NoAnswer is what an invocation brings that did not start: it costs nothing.
var NoAnswer = runner.Answer{Cost: state.Cost{Silent: true}}

// MaxMessage is the longest final message that is accepted, in bytes.
const MaxMessage = 10 << 20

// Message is a message under way, of at most MaxMessage bytes. The zero value is empty.
type Message struct{ strings.Builder }

// Add adds a text, and reports false, without adding it, when the message would become too long.
func (m *Message) Add(text string) bool {
	if m.Len()+len(text) > MaxMessage {
		return false
	}
	m.WriteString(text)
	return true
}

// TooLongFailure is the failure of an invocation whose message does not fit.
func TooLongFailure() *runner.Failure { return Fatal("the message is over %d MiB", MaxMessage>>20) }

// Hider is the order's Hide; without one texts stay as they are.
func Hider(o runner.Order) func(string) string {
	if o.Hide == nil {
		return func(text string) string { return text }
	}
	return o.Hide
}

// OneLine returns a text on one line of at most width characters. Secrets must be hidden before.
func OneLine(s string, width int) string { return untrusted.Brief(s, width) }

// LateExitNotes are notes about what a process did after its answer was complete.
func LateExitNotes(exit proc.Exit, o runner.Order) (notes []string) {
	switch {
	case exit.Ended == proc.ByLateExit:
		return []string{"the agent CLI continued after its result and was ended"}
	case exit.Ended != proc.ByItself:
		return []string{fmt.Sprintf("the agent CLI was ended (%s) after its result", exit.Ended)}
	case exit.Code != 0:
		return []string{fmt.Sprintf("the agent CLI ended with %s after a good result", DescribeExit(exit, o))}
	}
	return nil
}
