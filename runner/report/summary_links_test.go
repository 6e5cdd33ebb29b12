package report

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// linksIn returns the URLs that are links in Markdown: URLs in angle brackets that are not in code.
func linksIn(markdown string) []string {
	var found []string
	fenced := false
	for line := range strings.Lines(markdown) {
		if fenced = fenced != strings.HasPrefix(line, "```"); fenced {
			continue
		}
		for i, part := range strings.Split(line, "`") {
			for i%2 == 0 {
				_, rest, ok := strings.Cut(part, "<http")
				link, after, closed := strings.Cut(rest, ">")
				if !ok || !closed {
					break
				}
				found, part = append(found, "http"+link), after
			}
		}
	}
	return found
}

// TestResultLinks checks which URLs in a result become links in the summary and in the overview.
// Each link must go to exactly the URL that a reader sees.
func TestResultLinks(t *testing.T) {
	const pull = "https://forge.test/o/r/pull/7"
	long := strings.Repeat("a line without a link\n", 40)
	for result, want := range map[string][]string{
		pull:                   {pull},
		"Opened " + pull + ".": {pull},
		"See (" + pull + ") and <" + pull + "?a=b&c=%20#d>": {pull, pull + "?a=b&c=%20#d"},
		"two lines\n" + pull + "\n" + pull:                  {pull},
		long + pull + "\n" + long:                           {pull},
		"javascript:alert(1)":                               nil,
		"https://else.test/page":                            {"https://else.test/page"},
		"https://forge.test/other/x/pull/1":                 nil,
		"https://GitHub.com/other/x/pull/1":                 nil,
		"https://forge.test/o/r/../x/pull/1":                nil,
		"https://forge.test@evil.test/":                     nil,
		"https://forge.test\u200b.evil.test/":               {"https://forge.test.evil.test/"},
		pull + "\u202e/evil":                                {pull + "/evil"},
		pull + "é":                                          nil,
		"xhttps://forge.test/":                              nil,
		"https://forge.test/" + strings.Repeat("a", 400):    nil,
		"@eve $x$ <b>" + " " + pull + " `x` | [a](b)":       {pull},
		strings.Repeat(pull+"1 "+pull+"2 "+pull+"3\n", 5) + pull + "4 " + pull + "5 " + pull + "6": {pull + "1", pull + "2", pull + "3", pull + "4", pull + "5"},
	} {
		var p page
		s, text := NewSummary(NewLiveModel(), SummaryOptions{Write: p.write, WorkflowID: "w", Site: "https://forge.test/o/r/"}), state.Text(result)
		report(t, s, state.Event{Seq: 1, Time: time.Unix(1, 0), Body: &state.RunStarted{}})
		report(t, s, state.Event{Seq: 2, Time: time.Unix(2, 0), Body: &state.RunFinished{Status: state.Completed, Result: &text}})
		for what, got := range map[string]string{"summary": p.text, "overview": s.Overview()} {
			links := linksIn(got)
			assert.Check(t, is.DeepEqual(links, want), "%s of the result %.80q: got the links %q, want %q, in\n%s", what, result, links, want, got)
		}
	}
}
