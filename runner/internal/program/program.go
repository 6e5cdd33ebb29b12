// Package program runs agent CLIs. It locates a CLI and checks its version, starts it for an order, and
// explains why a process ended without an answer.
//
// It contains the code that all agent CLIs share. The package of each CLI knows the CLI's arguments and
// output.
package program

import (
	"fmt"
	"strings"

	untrusted "github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// NoAnswer is the answer for an invocation whose process did not start. Its cost is zero.
var NoAnswer = runner.Answer{Cost: state.Cost{Silent: true}}

// MaxMessage is the maximum length in bytes of a final message.
const MaxMessage = 10 << 20

// Message collects the pieces of a message. It contains at most MaxMessage bytes. The zero value is empty.
type Message struct{ strings.Builder }

// Add appends a text. If the message would become longer than MaxMessage, it appends nothing and returns
// false.
func (m *Message) Add(text string) bool {
	if m.Len()+len(text) > MaxMessage {
		return false
	}
	m.WriteString(text)
	return true
}

// TooLongFailure returns the failure for a message that is longer than MaxMessage.
func TooLongFailure() *runner.Failure { return Fatal("the message is over %d MiB", MaxMessage>>20) }

// Hider returns the function o.Hide, which masks secrets. If it is nil, Hider returns a function that
// changes nothing.
func Hider(o runner.Order) func(string) string {
	if o.Hide == nil {
		return func(text string) string { return text }
	}
	return o.Hide
}

// OneLine returns a text on one line with at most width characters. The caller must mask secrets before,
// because a secret that was truncated is not recognized.
func OneLine(s string, width int) string { return untrusted.Brief(s, width) }

// LateExitNotes returns notes about a process that did not exit cleanly after it had printed its
// complete answer.
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
