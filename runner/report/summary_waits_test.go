package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// TestManyWaitsFit checks the summary and the overview of a run with many waiting agents. Both must
// stay below their limits and show the first question with the comments that answer it. Many waits
// of one kind must not hide waits of another kind, and the number of questions that are not shown
// must be given.
func TestManyWaitsFit(t *testing.T) {
	t.Parallel()
	const agents = 12
	for _, filler := range []string{"中", "```\n"} {
		text := "begin" + strings.Repeat(filler, 20_000/len(filler)) + "end"
		var p page
		s := NewSummary(NewLiveModel(), SummaryOptions{Write: p.write, Site: "https://github.com/acme/ledger/", JobContext: JobContext{Number: 7, Kind: "issue", Job: "work"}})
		report(t, s, state.Event{Time: nine, Body: &state.RunStarted{BudgetUSD: state.Dollar}})
		n := 0
		for range agents {
			for _, b := range waitsWith(text) {
				if w := b.(*state.AgentWaits); w.For == state.ForAnswer {
					n++
					w.Number, w.Where, w.Choices = n, 0, append([]string{"a choice of words"}, slices.Repeat([]string{strings.Repeat("中", 45)}, 300)...)
				}
				n := fmt.Sprint(len(s.model.openWaits()))
				report(t, s, state.Event{Time: nine, Agent: "main_" + n, State: text, Body: b})
			}
		}
		report(t, s, state.Event{Time: nine, Body: &state.RunFinished{Status: state.Suspended, Reason: text}})
		must(t, s.Next(text))
		for what, got := range map[string]string{"page": p.text, "overview": s.Overview()} {
			limit, shown := 8<<10, 3
			if what == "page" {
				limit, shown = 1_000_000, 10
			}
			assert.Check(t, len(got) < limit && utf8.ValidString(got), "%s of waits with 20,000 bytes of %q: %d bytes, valid UTF-8 %t", what, filler, len(got), utf8.ValidString(got))
			for _, want := range []string{"**Question 1**, asked by `main_0`", "`/raymond 1 a choice of words`", "[on issue 7](https://github.com/acme/ledger/issues/7)", "\n- for the job `", "\n- for the agents ", fmt.Sprintf("Also open: %d more questions.", n-shown)} {
				assert.Check(t, is.Contains(got, want), "%s of waits with %q has no %q:\n%.3000s", what, filler, want, got)
			}
			skeleton(t, got)
		}
	}
}

// TestPartShowsOnlyItsOwnAgents checks that the summary of a matrix part leaves out the waits of
// other parts. The jobs that drive those parts show them.
func TestPartShowsOnlyItsOwnAgents(t *testing.T) {
	run := &state.Run{Parts: []state.Part{
		{Name: "other", Agents: []state.Handover{{Agent: "main_work2"}}},
		{Name: "own", Agents: []state.Handover{{Agent: "main_work1"}}, Start: &state.PartStart{}},
	}}
	s := NewSummary(NewLiveModel(), SummaryOptions{Write: new(page).write, JobContext: JobContext{Part: []string{"main_work1"}}})
	for i, id := range []string{"main", "main_work1", "main_work1_a1", "main_work12", "main_work2"} {
		q := state.AgentWaits{For: state.ForAnswer, Number: i + 1, Question: "?"}
		report(t, s, state.Event{Agent: id, State: "A.md", Body: &q})
		run.Agents = append(run.Agents, &state.Agent{ID: id, Status: state.Waiting, Waits: &state.WaitCondition{For: state.ForAnswer, Question: &state.Question{Number: i + 1}}})
	}
	var known []string
	for _, w := range WaitsOf(run) {
		known = append(known, w.Agent)
	}
	assert.Check(t, is.DeepEqual(known, []string{"main_work1", "main_work1_a1"}), "WaitsOf")
	got := strings.Count(s.Overview(), "**To answer**")
	assert.Check(t, got == 2, "got %d questions in\n%s\nwant two", got, s.Overview())
}
