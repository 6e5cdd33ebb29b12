package report

import (
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// TestResultsThatAreAddressesOfTheSiteAreLinks, and no other text is one.
func TestResultsThatAreAddressesOfTheSiteAreLinks(t *testing.T) {
	const site = "https://forge.test/o/r/"
	for result, isLink := range map[string]bool{
		site + "pull/7":                 true,
		site + "pull/7\n":               true,
		site + "tree/raymond/x_1":       true,
		site:                            false,
		site + "pull/7 and more":        false,
		site + "pull/7>@eve":            false,
		site + "@eve":                   false,
		site + "../other/pull/7":        false,
		site + "pull/../../other":       false,
		site + "..":                     false,
		site + "compare/v1...v2":        true,
		site + "pull/7\n\n@eve":         false,
		site + "[x](y)":                 false,
		site + "javascript:x":           false,
		"https://forge.test/o/r":        false,
		"https://else.test/o/r/p":       false,
		"x " + site + "pull/7":          false,
		site + strings.Repeat("a", 201): false,
	} {
		for _, here := range []string{site, ""} {
			var p page
			s := NewSummary(SummaryOptions{Write: p.write, WorkflowID: "w", Site: here, Now: frozen})
			text := state.Text(result)
			report(t, s, state.Event{Seq: 1, Time: time.Unix(1, 0), Body: &state.RunStarted{}})
			report(t, s, state.Event{Seq: 2, Time: time.Unix(2, 0), Body: &state.RunFinished{Status: state.Completed, Result: &text}})
			want := isLink && here != ""
			for what, got := range map[string]string{"summary": p.text, "glance": s.Glance()} {
				link := "**Result**: <" + strings.TrimSpace(result) + ">\n"
				if strings.Contains(got, link) != want {
					t.Errorf("%s of result %q on %q: got\n%s\nwant the link: %t", what, result, here, got, want)
				}
			}
		}
	}
}
