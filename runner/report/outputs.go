package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// outputs are the last lines that a failed script wrote.
type outputs struct{ stdout, stderr string }

// outputsOf returns the outputs of a state, which are empty unless a script failed.
func outputsOf(b *state.StateFinished) outputs { return outputs{b.StdoutTail, b.StderrTail} }

// output is one of them.
type output struct{ name, text string }

// list returns those that are not blank.
func (o outputs) list() []output {
	var all []output
	for _, one := range []output{{"stdout", o.stdout}, {"stderr", o.stderr}} {
		if strings.TrimSpace(one.text) != "" {
			all = append(all, one)
		}
	}
	return all
}

// without returns an error without its quotes of the outputs, which are shown beside
// it.
func (o outputs) without(fault string) string {
	first := len(fault)
	for _, one := range o.list() {
		if at := strings.Index(fault, "; "+one.name+": "); at >= 0 {
			first = min(first, at)
		}
	}
	return fault[:first]
}
