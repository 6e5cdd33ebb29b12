package report

import (
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// part is what happens in one job of a run.
type part struct {
	after  time.Duration // the end of the part before
	events []state.Event // with the time since the part began
}

// pageOfParts returns the page and the overview of a run of several jobs. The summary is
// given the events of all of them, as in a later job.
func pageOfParts(t *testing.T, parts ...part) (text, overview string) {
	t.Helper()
	var p page
	s := NewSummary(NewLiveModel(), SummaryOptions{Write: p.write, Now: frozen})
	at, seq := nine, 0
	for i, one := range parts {
		at = at.Add(one.after)
		began := at
		tell := func(since time.Duration, e state.Event) {
			seq++
			at = began.Add(since)
			e.Seq, e.Time = seq, at
			report(t, s, e)
		}
		tell(0, state.Event{Body: &state.RunStarted{Resumed: i > 0, BudgetUSD: state.Dollar}})
		for _, e := range one.events {
			tell(e.Time.Sub(time.Time{}), e)
		}
	}
	must(t, s.write())
	return p.text, s.Overview()
}

func happened(since time.Duration, body state.Body) state.Event {
	e := state.Event{Time: time.Time{}.Add(since), Body: body}
	switch body.(type) {
	case *state.RunFinished, *state.Limit, *state.Checkpoint:
	default:
		e.Agent, e.State = "main", "A.md"
	}
	return e
}

const cent = state.Dollar / 100

// TestAResumedRunShowsNoOldFailure states that a resumed run shows no failure of an
// earlier part while it is active.
func TestAResumedRunShowsNoOldFailure(t *testing.T) {
	failed := part{events: []state.Event{
		happened(0, &state.StateStarted{Kind: "prompt", Attempt: 1}),
		happened(time.Second, &state.StateFinished{Error: "broken pipe", DurationMS: 1000, CostUSD: cent}),
		happened(time.Second, &state.AgentFinished{Error: "broken pipe"}),
		happened(time.Second, &state.RunFinished{Status: state.Failed, Reason: "agent main in state A.md: broken pipe", CostUSD: cent, Iterations: 1, DurationMS: 1000}),
		happened(time.Second, &state.Checkpoint{Error: "no such service"}),
	}}
	for name, events := range map[string][]state.Event{
		"when it begins": nil, "at work": {happened(0, &state.StateStarted{Kind: "prompt", Attempt: 1})},
	} {
		text, overview := pageOfParts(t, failed, part{time.Hour, events})
		if strings.Contains(overview, "broken pipe") || strings.Contains(overview, "ailed") || strings.Contains(text, "no such service") {
			t.Errorf("%s: got the comment\n%s\nand the page\n%s\nwant none of the old failure", name, overview, text)
		}
	}
	text, overview := pageOfParts(t, failed)
	if !strings.Contains(overview, "broken pipe") || !strings.Contains(text, "no such service") {
		t.Errorf("before it is resumed: got the comment\n%s\nand the page\n%s\nwant the failure", overview, text)
	}
}
