package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Output is what a failed script wrote last, from the beginning of a line on.
type Output struct{ Name, Text string }

// maxOutputEnd is just less than the 4096 bytes, cut at a character, that an event has of an output
// that is longer: the quote of such an output begins at a line, and that of any other is whole.
const maxOutputEnd = 4092

// Outputs are those of an execution that are not blank; none for none.
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

// why is the reason why the agent failed, without its quotes of the outputs, which are shown beside it.
func (a *Agent) why() string {
	why := a.Error
	for _, one := range a.last.Outputs() {
		why, _, _ = strings.Cut(why, "; "+one.Name+": ")
	}
	return why
}
