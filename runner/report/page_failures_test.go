package report

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestExcerpt states which lines of a text are shown, and whether these are all lines.
func TestExcerpt(t *testing.T) {
	var long []string
	for i := range 10 {
		long = append(long, fmt.Sprint("line ", i+1))
	}
	wide := strings.Repeat("w", 300)
	for _, c := range []struct {
		text    string
		fromTop bool
		want    string
		isAll   bool
	}{
		{"one", false, "one", true},
		{"one\ntwo\nthree\nfour", false, "one\ntwo\nthree\nfour", true},
		{strings.Join(long, "\n"), false, "line 1\n… 7 lines left out …\nline 9\nline 10", false},
		{strings.Join(long, "\n"), true, "line 1\nline 2\nline 3\n… 7 lines left out …", false},
		{wide, false, strings.Repeat("w", 133) + "…" + strings.Repeat("w", 65), false},
	} {
		got, isAll := excerpt{text: c.text, lines: 4, fromTop: c.fromTop}.shorten(&writer{short: 1000})
		assert.Check(t, is.Equal(got, c.want), "excerpt of %q, from its top %t", c.text, c.fromTop)
		assert.Check(t, is.Equal(isAll, c.isAll), "excerpt of %q, from its top %t", c.text, c.fromTop)
	}
}

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
