package report

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestErrorLines: the quote of a program's output has line breaks again, and nothing else
// has.
func TestErrorLines(t *testing.T) {
	for fault, want := range map[string]string{
		`exit code 3; stderr: line one\nline two`:   "exit code 3; stderr:\nline one\nline two",
		`exit code 3; stdout: a\r\nb; stderr: c`:    "exit code 3; stdout:\na\nb; stderr: c",
		`no tag; the output ends in "a\nb \\n c\n"`: "no tag; the output ends in\na\nb \\n c\n",
		`exit code 3; stderr: one line`:             `exit code 3; stderr: one line`,
		`the file C:\new is missing`:                `the file C:\new is missing`,
		`no tag; the output ends in "one"`:          `no tag; the output ends in "one"`,
		`max_ralph_iters_reached`:                   `max_ralph_iters_reached`,
	} {
		if got := ErrorLines(fault); got != want {
			t.Errorf("%s: got %q, want %q", fault, got, want)
		}
	}
}

// TestLinesOfAFailureAreLines: page, comment and annotation show the line breaks of an
// error.
func TestLinesOfAFailureAreLines(t *testing.T) {
	fault := `exit code 3; stderr: line one\nline two`
	events := []state.Event{
		{Seq: 1, Time: nine, Body: &state.RunStarted{}},
		{Seq: 2, Time: nine, Agent: "main", State: "A.sh", Body: &state.StateStarted{Kind: "script"}},
		{Seq: 3, Time: nine, Agent: "main", State: "A.sh", Body: &state.StateFinished{Error: fault}},
		{Seq: 4, Time: nine, Agent: "main", State: "A.sh", Body: &state.AgentFinished{Error: fault}},
		{Seq: 5, Time: nine, Body: &state.RunFinished{Status: state.Failed, Reason: "agent main in state A.sh: " + fault}},
	}
	var p page
	s := NewSummary(SummaryOptions{Write: p.write, Now: frozen})
	for _, e := range events {
		report(t, s, e)
	}
	texts := map[string]string{"page": p.text, "comment": s.Overview()}
	for _, n := range annotated(t, events...) {
		texts["annotations"] += n.Text + "\n"
	}
	for medium, text := range texts {
		if strings.Contains(text, `\n`) || strings.Count(text, "line one\nline two") != 1 {
			t.Errorf("%s: got\n%s\nwant the two lines once, as lines", medium, text)
		}
	}
	var log jobLog
	j := NewJob(&log, JobOptions{})
	for _, e := range events {
		report(t, j, e)
	}
	closed(t, j)
	if got := strings.Count(log.String(), "line one"); got != 1 {
		t.Errorf("log: got the failure %d times, want it once\n%s", got, log.String())
	}
}
