package report

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestQuotesBeginAtALine: the end of an output that an event has begins anywhere. An output that is
// shorter than such an end is quoted whole.
func TestQuotesBeginAtALine(t *testing.T) {
	lines := strings.Repeat("a long line\n", 341)
	for output, want := range map[string]string{"ine\n" + lines: lines, " line\n" + lines[12:]: " line\n" + lines[12:]} {
		for _, one := range (&Exec{Stdout: output, Stderr: output}).Outputs() {
			assert.Check(t, is.Equal(one.Text, want), "%s: got %d bytes %.30q, want %d", one.Name, len(one.Text), one.Text, len(want))
		}
	}
}
