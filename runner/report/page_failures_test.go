package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// top returns the lines of a summary that are seen first: those before the diagram or the
// table, without what is folded.
func top(t *testing.T, markdown string) []string {
	t.Helper()
	before, _, found := strings.Cut(markdown, "\n### ")
	if !found {
		t.Fatalf("summary without a heading:\n%s", markdown)
	}
	var lines []string
	depth := 0
	for line := range strings.Lines(before) {
		switch {
		case strings.HasPrefix(line, "<details>"):
			depth++
			lines = append(lines, line)
		case strings.HasPrefix(line, "</details>"):
			depth--
		case depth == 0 && line != "\n":
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// TestTopIsShort states that the part before the diagram fits on a screen, whatever failed
// and however long its output and the result are, and that it has the last lines of that
// output, the cost and what to do next.
func TestTopIsShort(t *testing.T) {
	var output strings.Builder
	for i := range 300 {
		fmt.Fprintf(&output, "make: line %d of no use to anybody\n", i+1)
	}
	output.WriteString("main.go:12:3: undefined: foo\nmake: *** [build] Error 2\n")
	result := state.Text(strings.Repeat("a long result of many words\n", 500))
	for _, failures := range []int{0, 1, 2, 3, 4, 19, 100} {
		for _, isJudged := range []bool{false, true} {
			var p page
			s := NewSummary(SummaryOptions{Write: p.write, Now: frozen})
			report(t, s, state.Event{Time: nine, Body: &state.RunStarted{BudgetUSD: state.Dollar}})
			for i := range failures {
				fails(t, s, fmt.Sprint("main_", i+1), output.String(), isJudged)
			}
			report(t, s, state.Event{Time: nine, Agent: "main", State: "B.md", Body: &state.StateStarted{Kind: "prompt"}})
			report(t, s, state.Event{Time: nine, Body: &state.RunFinished{Status: state.Failed, CostUSD: state.Dollar / 4, Result: &result}})
			must(t, s.Next("go on"))
			lines := top(t, p.text)
			text := strings.Join(lines, "\n")
			wants := []string{"❌ Failed", "$0.2500 of $1.00", "**Next:** "}
			if failures > 0 {
				wants = append(wants, "main_1", "A.sh", "[build] Error 2")
			}
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("%d failures, judged %t: the top of the page has no %q:\n%s", failures, isJudged, want, text)
				}
			}
			if len(lines) > 60 || failures == 1 && len(lines) > 42 {
				t.Errorf("%d failures, judged %t: %d lines before the diagram:\n%s", failures, isJudged, len(lines), text)
			}
		}
	}
}

// fails returns the events of an agent that fails: by its script, or by the command that
// checks its last attempt.
func fails(t *testing.T, s *Summary, agent, output string, isJudged bool) {
	t.Helper()
	about := func(b state.Body) {
		report(t, s, state.Event{Time: nine, Agent: agent, State: "A.sh", Body: b})
	}
	fault := "exit code 2: " + output
	about(&state.StateStarted{Kind: "prompt"})
	if isJudged {
		fault = "max_ralph_iters_reached: make: *** [build] Error 2"
		about(&state.NodeAttempt{Attempt: 1, Reason: "done_when_failed", Results: []state.CommandResult{{Cmd: "make", RC: 2, Tail: output[len(output)-4096:]}}})
	}
	about(&state.StateFinished{Error: fault})
	about(&state.AgentFinished{Error: fault})
}

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
		got, isAll := excerpt{text: newPassage(c.text, 1000), lines: 4, fromTop: c.fromTop}.shorten(1000)
		if got != c.want || isAll != c.isAll {
			t.Errorf("excerpt of %q, from its top %t:\n got %q, all of it %t\nwant %q, %t", c.text, c.fromTop, got, isAll, c.want, c.isAll)
		}
	}
}

// TestWrap states that long lines of prose are broken between words, that nothing
// else changes, and that every line can be read without scrolling.
func TestWrap(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("some words ", 40))
	for _, text := range []string{"", "short", "a\n\n  b\n", words, "  " + words, strings.Repeat("x", 500), strings.Repeat("中 ", 300), words + "\n" + words} {
		got := wrap(text)
		for line := range strings.SplitSeq(got, "\n") {
			if columns(line) > widestProse {
				t.Errorf("wrap(%q): a line of %d columns, want %d at most", text, columns(line), widestProse)
			}
		}
		if plain(strings.Join(strings.Fields(got), "")) != strings.Join(strings.Fields(text), "") {
			t.Errorf("wrap(%q):\n got %q\nwant the same words", text, got)
		}
		if columns(text) < widestProse && got != text {
			t.Errorf("wrap(%q) = %q, want it as it is", text, got)
		}
	}
}
