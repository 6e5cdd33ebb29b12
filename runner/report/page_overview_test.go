package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestOverviewIsShort states that the overview of a run has less than 8 KiB whatever
// agents say, and is a whole document.
func TestOverviewIsShort(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"x", "`", "中", "\xff", "@", "```\n"} {
		for _, size := range []int{100, 10_000} {
			text := "begin" + strings.Repeat(filler, size/len(filler)) + "end"
			s := NewSummary(NewLiveModel(), SummaryOptions{Write: new(page).write, WorkflowID: text, Title: text, Now: frozen})
			for _, e := range crowd(text, 2) {
				report(t, s, e)
			}
			must(t, s.Next(text))
			for _, fault := range []string{"", text} {
				s.SetError(fault)
				got := s.Overview()
				if len(got) >= 8<<10 || !utf8.ValidString(got) {
					t.Errorf("overview of %d bytes of %q: %d bytes, valid UTF-8 %t", size, filler, len(got), utf8.ValidString(got))
				}
				if bones := skeleton(t, got); strings.Contains(bones, "mermaid") || strings.Contains(bones, "| ") || strings.Contains(bones, "<details>") {
					t.Errorf("overview of %d bytes of %q has more than an overview:\n%s", size, filler, got)
				}
			}
		}
	}
}
