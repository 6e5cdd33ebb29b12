package report

import (
	"fmt"
	"strings"
	"testing"
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
		if got != c.want || isAll != c.isAll {
			t.Errorf("excerpt of %q, from its top %t:\n got %q, all of it %t\nwant %q, %t", c.text, c.fromTop, got, isAll, c.want, c.isAll)
		}
	}
}

// TestQuotesBeginAtALine: the end of an output that an event has begins anywhere. An output that is
// shorter than such an end is quoted whole.
func TestQuotesBeginAtALine(t *testing.T) {
	lines := strings.Repeat("a long line\n", 341)
	for output, want := range map[string]string{"ine\n" + lines: lines, " line\n" + lines[12:]: " line\n" + lines[12:]} {
		for _, one := range (&Exec{Stdout: output, Stderr: output}).Outputs() {
			if one.Text != want {
				t.Errorf("%s: got %d bytes %.30q, want %d", one.Name, len(one.Text), one.Text, len(want))
			}
		}
	}
}
