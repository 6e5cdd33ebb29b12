package job

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxSummary is how large a step summary may be, in bytes. GitHub shows nothing
// of one that has more than 1 MiB.
const maxSummary = 1_000_000

const summaryCut = "\n\n(The summary was too long, and ends here.)\n"

// SetOutput sets an output of the step, one of Outputs. Bytes that are no UTF-8
// are replaced and NUL is removed. Whatever the value is, it sets no other
// output.
func (f *Files) SetOutput(name, value string) error {
	if !slices.ContainsFunc(outputs, func(o OutputSpec) bool { return o.Name == name }) {
		return fmt.Errorf("set output %q: there is no such output", name)
	}
	if err := f.add(outputFile, name, value); err != nil {
		return fmt.Errorf("set output %s: %w", name, err)
	}
	return nil
}

// SaveState saves a value for the post part of the step, which has it as
// STATE_name.
func (f *Files) SaveState(name, value string) error {
	if err := f.add(stateFile, name, value); err != nil {
		return fmt.Errorf("save state %s: %w", name, err)
	}
	return nil
}

// add appends an entry to a command file.
func (f *Files) add(file, name, value string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	entry := outputEntry(name, value)
	return f.update(file, func(c *commandFile) []byte {
		before := slices.Clone(c.now.data)
		if n := len(before); n > 0 && before[n-1] != '\n' {
			before = append(before, '\n')
		}
		return append(before, entry...)
	})
}

// outputEntry is what the runner reads as one output.
func outputEntry(name, value string) string {
	value = strings.ReplaceAll(strings.ToValidUTF8(value, "\uFFFD"), "\x00", "")
	end := "end_" + rand.Text()
	return name + "<<" + end + "\n" + value + "\n" + end + "\n"
}

// WriteSummary makes markdown the step's summary, after what was in the file at
// first. It can be called again and again; the last one stays. What is too long
// is cut, with a note.
func (f *Files) WriteSummary(markdown string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.update(summaryFile, func(c *commandFile) []byte {
		return []byte(fitSummary(string(c.before), markdown))
	})
	if err != nil {
		return fmt.Errorf("write the step summary: %w", err)
	}
	return nil
}

// fitSummary joins both within the limit. What others wrote stays whole, even if
// nothing of ours fits beside it.
func fitSummary(before, markdown string) string {
	markdown = strings.ToValidUTF8(markdown, "\uFFFD")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	room := maxSummary - len(before)
	if len(markdown) <= room {
		return before + markdown
	}
	room -= len(summaryCut)
	if room < 0 {
		return before
	}
	return before + text.Prefix(markdown, room) + summaryCut
}
