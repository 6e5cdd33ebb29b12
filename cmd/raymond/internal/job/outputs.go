package job

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxSummary is the maximum size of a step summary, in bytes. GitHub doesn't show a summary of
// more than 1 MiB.
const maxSummary = 1_000_000

const summaryCut = "\n\n(The summary was too long and has been cut here.)\n"

// SetOutput sets an output of the step. It returns an error if the list outputs doesn't contain name.
// Bytes that are not UTF-8 are replaced, and NUL is removed. A value can't set another output.
func (f *Files) SetOutput(name, value string) error {
	if !slices.ContainsFunc(outputs, func(o OutputSpec) bool { return o.Name == name }) {
		return fmt.Errorf("set output %q: there is no such output", name)
	}
	if err := f.add(outputFile, name, value); err != nil {
		return fmt.Errorf("set output %s: %w", name, err)
	}
	return nil
}

// SaveState saves a value for the post phase of the step, where it is in the variable STATE_name.
func (f *Files) SaveState(name, value string) error {
	if err := f.add(stateFile, name, value); err != nil {
		return fmt.Errorf("save state %s: %w", name, err)
	}
	return nil
}

// add appends an entry with a name and a value to a command file.
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

// outputEntry formats a name and a value as an entry of a command file. The entry ends with a random
// delimiter, which the value can't contain.
func outputEntry(name, value string) string {
	value = strings.ReplaceAll(strings.ToValidUTF8(value, "\uFFFD"), "\x00", "")
	end := "end_" + rand.Text()
	return name + "<<" + end + "\n" + value + "\n" + end + "\n"
}

// WriteSummary writes the step summary: the initial content of the file, followed by markdown. Each call
// replaces the text of the previous call. A text that is too long is cut, and a note is added.
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

// fitSummary joins both texts and cuts markdown if the result would be too long. before is never cut.
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
