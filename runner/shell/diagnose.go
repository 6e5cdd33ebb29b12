package shell

import (
	"fmt"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// diagnose returns what was wrong with a script that has ended, nil for nothing.
// words are its last ones.
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
