package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Output is the end of a failed script's stdout or stderr. It starts at the start of a line.
type Output struct{ Name, Text string }

// maxOutputEnd is the maximum size of an Output in bytes. It is slightly below 4096: events contain
// only the last 4096 bytes of a longer output, or up to three bytes less, so that they start at a
// character. A shortened output always exceeds maxOutputEnd, so its first, incomplete line is
// removed. A shorter output is complete.
const maxOutputEnd = 4092

// Outputs returns the end of the execution's stdout and stderr. It leaves out an output that has
// only white space.
func (x *Exec) Outputs() []Output {
	var all []Output
	if x != nil && strings.TrimSpace(x.Stdout) != "" {
		all = append(all, Output{"stdout", text.LastLines(x.Stdout, maxOutputEnd)})
	}
	if x != nil && strings.TrimSpace(x.Stderr) != "" {
		all = append(all, Output{"stderr", text.LastLines(x.Stderr, maxOutputEnd)})
	}
	return all
}

// reason returns why the agent failed. It leaves out quoted outputs, which are shown separately.
func (a *Agent) reason() string {
	why := a.Error
	for _, one := range a.last.Outputs() {
		why, _, _ = strings.Cut(why, "; "+one.Name+": ")
	}
	return why
}
