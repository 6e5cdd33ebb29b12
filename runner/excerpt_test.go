package runner

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestExcerptKeepsBothEnds checks that an excerpt contains the first and the last lines within the
// limits, at least one last line, and the number of lines missing between them.
func TestExcerptKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		first, last ExcerptLimit
		lines, want string
	}{
		{ExcerptLimit{0, 100}, ExcerptLimit{0, 100}, "", ""},
		{ExcerptLimit{0, 100}, ExcerptLimit{0, 100}, "a b c", "a b c"},
		{ExcerptLimit{2, 100}, ExcerptLimit{1, 100}, "a b c d e", "a b …_2_lines_left_out_… e"},
		{ExcerptLimit{2, 100}, ExcerptLimit{1, 100}, "a b c d", "a b …_1_line_left_out_… d"},
		{ExcerptLimit{0, 4}, ExcerptLimit{0, 5}, "a b cc d e f", "a b …_2_lines_left_out_… e f"},
		{ExcerptLimit{0, 4}, ExcerptLimit{0, 4}, "aa bbb c d", "aa …_1_line_left_out_… c d"},
		{ExcerptLimit{0, 0}, ExcerptLimit{0, 0}, "a long", "…_1_line_left_out_… long"},
		{ExcerptLimit{0, 0}, ExcerptLimit{0, 2}, strings.Repeat("x ", 1235) + "y", "…_1235_lines_left_out_… y"},
	} {
		// The caller may also show the first lines itself.
		for _, shows := range []bool{false, true} {
			r := Excerpt{First: c.first, Last: c.last}
			var out []string
			for _, line := range strings.Fields(c.lines) {
				switch {
				case !shows:
					r.Add(line)
				case r.Admit(line):
					out = append(out, line)
				}
			}
			r.Each(func(line string) { out = append(out, strings.ReplaceAll(line, " ", "_")) })
			assert.Check(t, slices.Equal(out, strings.Fields(c.want)), "%.40q within %v and %v: got %q", c.lines, c.first, c.last, out)
			assert.Check(t, is.Equal(r.IsEmpty(), len(r.first)+len(r.last) == 0), "%.40q: is empty", c.lines)
		}
	}
}
