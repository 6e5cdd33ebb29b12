package shell

import (
	"fmt"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// diagnose returns why a script that has ended failed, or nil if it succeeded. words are the ends
// of the script's outputs, which the failure's message quotes.
func diagnose(o runner.Order, e proc.Exit, cause error, words string) *runner.Failure {
	class, what := runner.Fatal, ""
	switch {
	case e.Ended == proc.ByStop:
		class, what = runner.Stopped, fmt.Sprintf("stopped: %v", cause)
	case e.Ended == proc.ByTimeout:
		what = fmt.Sprintf("timed out after %v", o.Timeout)
	case e.Ended == proc.ByIdle:
		what = fmt.Sprintf("no output for %v", o.Idle)
	case e.Ended == proc.ByWriter:
		what = fmt.Sprintf("stdout is over %d MiB, the limit of a message", MaxMessage>>20)
	case e.Signal != "":
		what = "ended by " + e.Describe()
	case e.Code != 0:
		what = e.Describe()
	default:
		return nil
	}
	return &runner.Failure{Class: class, Message: text.Escape(what) + words}
}
