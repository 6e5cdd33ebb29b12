package page

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

func written(t testing.TB, name string) []byte {
	t.Helper()
	return []byte(pageOf(t, fixtures[name]()))
}

// TestPagesOfTheFixtures: each has what programs may rely on.
func TestPagesOfTheFixtures(t *testing.T) {
	for name, report := range fixtures {
		page := string(written(t, name))
		if !strings.Contains(page, `id="timeline"`) || !strings.Contains(page, `<input type="search"`) {
			t.Errorf("%s: want a timeline and a search", name)
		}
		sections, bars := map[string]bool{}, map[string]bool{}
		for _, m := range sectionOrBar.FindAllStringSubmatch(page, -1) {
			if m[1] != "" {
				sections[m[1]] = true
			} else {
				bars[m[2]] = true
			}
		}
		for _, e := range report().Executions {
			if n := fmt.Sprint(e.N); !sections[n] || !bars[n] {
				t.Errorf("%s: want a section and a bar of execution %s", name, n)
			}
		}
	}
}

var sectionOrBar = regexp.MustCompile(`<section[^>]* id="e(\d+)"|<a[^>]* href="#e(\d+)"`)

// pageOf returns the page of a report.
func pageOf(t testing.TB, r *insight.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wantInOrder checks that a page has texts in their order.
func wantInOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Fatalf("want %q after the texts before it of %q in:\n%s", text, texts, rest[:min(len(rest), 3000)])
		}
		rest = after
	}
}

// TestAttemptsAreToldInTheirOrder: an execution is told as it went, each attempt with what was said
// in it and why it is not done, and what was cut off with what it had cost.
func TestAttemptsAreToldInTheirOrder(t *testing.T) {
	s := newStory("w")
	e := s.ran("FIX.md", 100*time.Second, 46, "")
	at := func(second int) time.Time { return e.Started.Add(time.Duration(second) * time.Second) }
	for i, text := range []string{"prompt one", "said one", "prompt two", "cut in the middle", "prompt three", "said three"} {
		e.Messages = append(e.Messages, runner.Message{From: runner.FromAgent, Time: at(10 * i), Text: text})
	}
	e.Gap = &report.Gap{After: 2, Messages: 7}
	e.Retries = []report.Moment{{Time: at(5), Text: "overloaded", BackoffMS: 4000}}
	e.Attempts = []report.Attempt{
		{Ended: at(15), NodeAttempt: state.NodeAttempt{Attempt: 1, Results: []state.CommandResult{{Cmd: "go vet ./..."}, {Cmd: "go test ./...", RC: 1, Tail: "FAIL: one"}}}},
		{Ended: at(90), NodeAttempt: state.NodeAttempt{Attempt: 2, Results: []state.CommandResult{{Cmd: "go test ./...", RC: 1, Tail: "FAIL: two"}}}},
	}
	e.Interruptions = []report.Interruption{{Time: at(35), AttemptInterrupted: state.AttemptInterrupted{Attempt: 2, Reason: "raymond was killed", CostUSD: state.Dollar * 12 / 100, Estimated: true}}}
	e.Status, e.Error = "failed", "not done after 2 attempts: `go test ./...` ended with exit code 1"
	s.Next = "to try again: raymond resume w"
	page := pageOf(t, s.ends("failed"))
	wantInOrder(t, page, "to try again: <code>raymond resume w</code>", "1 interrupted and repeated",
		"What went wrong", e.Error[:24], "FAIL: two", "interrupted (raymond was killed), repeated, ~$0.1200")
	_, section, _ := strings.Cut(page, `<section id="e1"`)
	wantInOrder(t, section, "Attempt 1", "`go test ./...` ended with exit code 1", "prompt one", "retry: overloaded, then waited 4.0s", "said one", "FAIL: one",
		"Attempt 2, cut off", "~$0.1200", "raymond was killed", "7 messages left out", "prompt two", "cut in the middle",
		"Attempt 2", "prompt three", "said three", "FAIL: two")
}

// TestARunThatWaits: its question stands in the headline, with the command that answers it.
func TestARunThatWaits(t *testing.T) {
	s := newStory("w")
	s.ran("PLAN.md", time.Second, 5, "ASK.sh")
	s.Waits = []report.Wait{{Agent: "main", State: "ASK.sh", Since: s.now, AgentWaits: state.AgentWaits{For: state.ForAnswer, Question: "May invoices\ndo the same?"}}}
	s.Reason, s.Next = "main waits for an answer to question 1", "to answer: raymond resume w --answer 'don'\\''t; (all)' (or no); to resume from 09:00 on: raymond resume w"
	wantInOrder(t, pageOf(t, s.ends("suspended")), "<h1>Waits for an answer: May invoices do the same?</h1>", "May invoices\ndo the same?",
		"to answer: <code>raymond resume w --answer &#39;don&#39;\\&#39;&#39;t; (all)&#39;</code> (or no); to resume from 09:00 on: <code>raymond resume w</code>", `id="timeline"`)
}

// TestLinksLeadWhereTheySay: an address in the result is a link that shows all of where it leads,
// its host first of all, and nothing else is one.
func TestLinksLeadWhereTheySay(t *testing.T) {
	s := newStory("w")
	s.Result = "see https://github.com/acme/ledger/pull/413, [github](https://evil.example:8443/x?y=1&z=2#f). http://a.example\n" +
		"https://github.com@evil.example/ https://github.com\u202e/ javascript:alert(1) file:///etc/passwd //evil.example data:text/html,x HTTPS://B.example https://x/\"onclick=x"
	page := pageOf(t, s.ends("completed"))
	var got []string
	for _, m := range regexp.MustCompile(`<a href="([^"#][^"]*)"([^>]*)>(.*?)</a>`).FindAllStringSubmatch(page, -1) {
		got = append(got, html.UnescapeString(m[1]))
		if shown := regexp.MustCompile(`</?b>`).ReplaceAllString(m[3], ""); shown != m[1] || !strings.Contains(m[2], "noreferrer") || !strings.Contains(m[3], "://<b>") {
			t.Errorf("got the link %q, want it to show its address and its host, and to name nobody", m[0])
		}
	}
	want := []string{"https://github.com/acme/ledger/pull/413", "https://evil.example:8443/x?y=1&z=2#f", "http://a.example", "https://github.com/", "https://x/"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}
