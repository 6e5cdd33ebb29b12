package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// outputs are the last lines that a failed script wrote.
type outputs struct{ stdout, stderr string }

// outputsOf returns the outputs of a state, which are empty unless a script failed.
func outputsOf(b *state.StateFinished) outputs { return outputs{b.StdoutTail, b.StderrTail} }

// each calls f for those that are not blank.
func (o outputs) each(f func(name, text string)) {
	if strings.TrimSpace(o.stdout) != "" {
		f("stdout", o.stdout)
	}
	if strings.TrimSpace(o.stderr) != "" {
		f("stderr", o.stderr)
	}
}

// count returns how many of them are not blank.
func (o outputs) count() int {
	n := 0
	o.each(func(string, string) { n++ })
	return n
}

// without returns an error without its quotes of the outputs, which are shown beside
// it.
func (o outputs) without(fault string) string {
	first := len(fault)
	o.each(func(name, _ string) {
		if at := strings.Index(fault, "; "+name+": "); at >= 0 {
			first = min(first, at)
		}
	})
	return fault[:first]
}
