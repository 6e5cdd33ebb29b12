package report

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestOutputsBeginAtALine checks that Outputs removes an incomplete first line. Events contain only
// the end of a long output, which may start within a line. A shorter output is complete, so nothing
// is removed.
func TestOutputsBeginAtALine(t *testing.T) {
	lines := strings.Repeat("a long line\n", 341)
	for output, want := range map[string]string{"ine\n" + lines: lines, " line\n" + lines[12:]: " line\n" + lines[12:]} {
		for _, one := range (&Exec{Stdout: output, Stderr: output}).Outputs() {
			assert.Check(t, is.Equal(one.Text, want), "%s: got %d bytes %.30q, want %d", one.Name, len(one.Text), one.Text, len(want))
		}
	}
}
