package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Output is the end of a failed script's output, starting at a line.
type Output struct{ Name, Text string }

// maxOutputEnd is slightly less than 4096 bytes, to which events cut longer outputs, at a
// character. An output that was cut thus loses its first, incomplete line, while a shorter one
// stays complete.
const maxOutputEnd = 4092

// Outputs returns the outputs of an execution that are not blank.
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

// reason returns why the agent failed, without quotes of the outputs, which are shown separately.
func (a *Agent) reason() string {
	why := a.Error
	for _, one := range a.last.Outputs() {
		why, _, _ = strings.Cut(why, "; "+one.Name+": ")
	}
	return why
}
