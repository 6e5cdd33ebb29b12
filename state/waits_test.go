package state_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// anywhere describes a process that runs all states and gives a token to each question.
var anywhere = state.Here{NewToken: func() string { return strings.Repeat("ab", 16) }}

// settle makes a step in which the process described by h begins and ends waits.
func (p *play) settle(h state.Here) {
	p.t.Helper()
	p.do(func(s *state.Step) { s.UpdateWaits(h) })
}

// fork makes an agent fork a new agent, which begins in the state B.md. It returns the name of the new agent.
func (p *play) fork(parent string) string {
	p.t.Helper()
	p.turn(parent, goTo("A.md"), protocol.Spawn{State: "B.md", Next: "A.md"})
	return p.run.Agents[len(p.run.Agents)-1].ID
}

func join(to string) protocol.Move { return protocol.Move{Verb: protocol.Join, To: to} }

func ask(to, text string) protocol.Move {
	return protocol.Move{Verb: protocol.Ask, To: to, Question: &protocol.Question{Text: text}}
}

// delivered returns the results that a join has delivered to an agent, with one text for each result.
func (p *play) delivered(id string) []string {
	p.t.Helper()
	var list []struct {
		Agent, Status, Result, Error string
		CostUSD                      float64 `json:"cost_usd"`
	}
	assert.NilError(p.t, json.Unmarshal([]byte(p.agent(id).Payload), &list))
	words := []string{}
	for _, d := range list {
		words = append(words, fmt.Sprintf("%s %s %s%s %.2f", d.Agent, d.Status, d.Result, d.Error, d.CostUSD))
	}
	return words
}

// waits returns the agents that wait. Each text consists of the agent's name and the kind of the wait.
func (p *play) waits() []string {
	words := []string{}
	for _, w := range p.run.WaitingAgents() {
		words = append(words, w.Agent+" "+string(w.For))
	}
	return words
}

func (p *play) status(id string) state.AgentStatus {
	p.t.Helper()
	return p.agent(id).Status
}

// TestQuestionTimesOut checks that a question times out only after all answers have been read that were given
// before its timeout. An answer that was given in time still counts if it is read later.
func TestQuestionTimesOut(t *testing.T) {
	p := newPlay(t, nil)
	question := ask("B.md", "Shall I?")
	question.Question.Timeout, question.Question.TimeoutNext = time.Hour, "C.md"
	p.turn("main", question)
	p.now = statetest.Epoch.Add(time.Hour)
	asked := []time.Time{}
	known := false
	reading := state.Here{HasRead: func(before time.Time) bool {
		asked = append(asked, before)
		return known
	}}
	p.settle(reading)
	equal(t, "while answers are read", []any{p.status("main"), p.run.Step(p.now).Schedule().NextUpdate(reading)}, []any{state.Waiting, time.Time{}})
	equal(t, "asked for", asked[0], statetest.Epoch.Add(time.Hour))
	known = true
	equal(t, "then", p.run.Step(p.now).Schedule().NextUpdate(reading), statetest.Epoch.Add(time.Hour))
	late := p.run
	p.settle(reading)
	a := p.agent("main")
	equal(t, "continues at", []any{a.State, a.Status, string(a.Payload)}, []any{"C.md", state.Ready, ""})
	last := p.events[len(p.events)-1]
	equal(t, "last event", []any{last.State, *last.Body.(*state.AgentGoesOn)}, []any{"C.md", state.AgentGoesOn{By: "timeout"}})

	p.run = late
	p.now = statetest.Epoch.Add(1000 * time.Hour)
	p.do(func(s *state.Step) {
		s.Answer("main", 1, state.Answer{Text: "late, and still in time", By: "x"})
		s.UpdateWaits(anywhere)
	})
	a = p.agent("main")
	equal(t, "a late answer", []any{a.State, string(a.Payload)}, []any{"B.md", "late, and still in time"})
	equal(t, "held for", p.run.Step(p.now).Schedule().DueTime(), time.Time{})
}

// TestPartLeavesOtherAgentsAlone checks that a step that is restricted to a part does not start, retry,
// answer or join agents outside the part. Agents that the part's agents fork belong to the part.
func TestPartLeavesOtherAgentsAlone(t *testing.T) {
	p := newPlay(t, func(o *state.Options) { o.KeepGoing = true })
	mine, asks, ready, bad := p.fork("main"), p.fork("main"), p.fork("main"), p.fork("main")
	child := p.fork(mine)
	p.turn(asks, ask("A.md", "?"))
	p.invoke(bad, fail(state.Fatal, "no"))
	p.turn("main", join("C.md"))
	part := func(f func(*state.Step)) {
		p.do(func(s *state.Step) {
			s.Restrict([]string{mine})
			f(s)
		})
	}
	part(func(s *state.Step) { s.Resume(nil) })
	equal(t, "tried again", p.status(bad), state.Stuck)
	part(func(s *state.Step) {
		s.Answer(asks, 1, state.Answer{Text: "x", By: "cli"})
		s.UpdateWaits(state.Here{Part: []string{mine}, Jobs: []string{"work"}, JobOf: func(string) string { return "work" }})
	})
	equal(t, "waits", p.waits(), []string{"main agents", asks + " answer"})
	next := func() string {
		s := p.run.Step(p.now)
		s.Restrict([]string{mine})
		a, ok := s.Schedule().Next(0)
		if !ok {
			return ""
		}
		return a.ID
	}
	p.turn(mine, result("mine"))
	equal(t, "next", next(), child)
	p.turn(child, result("child"))
	equal(t, "nothing is left", []any{next(), p.status(ready)}, []any{"", state.Ready})
	part(func(s *state.Step) {
		s.UpdateWaits(state.Here{Part: []string{mine}})
		s.Close(s.Closing(nil))
	})
	equal(t, "end", []any{p.run.Progress.Status, p.status("main")}, []any{state.Suspended, state.Waiting})
}

// TestEachAgentBelongsToOnePart checks that an agent that was handed over to a part does not also belong
// to the part of its parent.
func TestEachAgentBelongsToOnePart(t *testing.T) {
	p := newPlay(t, nil)
	p.turn("main", goTo("A.md"), protocol.Spawn{State: "B.md", Next: "C.md"})
	jobOf := func(string) string { return "work" }
	p.do(func(s *state.Step) {
		s.UpdateWaits(state.Here{Jobs: []string{"plan"}, JobOf: jobOf})
		s.Close(s.Closing(nil))
		s.HandOver("work", 2)
	})
	for _, part := range p.run.Parts.Matrix() {
		s := part.NewRun(p.run).Step(p.now)
		mine := part.Agents[0].Agent
		s.UpdateWaits(state.Here{Jobs: []string{"work"}, JobOf: jobOf, Part: []string{mine}})
		for a := range s.Agents() {
			equal(t, a.ID+" runs in the part of "+mine, a.Status == state.Ready, a.ID == mine)
		}
	}
}

// TestResultsAreKeptForAJoin checks that a run keeps any number of results until a join delivers them, and
// drops old results after the join.
func TestResultsAreKeptForAJoin(t *testing.T) {
	d := newDispatcher(t)
	d.step(func(s *state.Step) { s.UpdateWaits(state.Here{HasJoin: true}) })
	const many = 2600
	for range many {
		d.fork("main", "B.md", cost(1))
	}
	equal(t, "results", len(d.run.Ended), many)
	assert.NilError(t, d.run.Validate())
	d.launch("main", moveOutcome(1, join("A.md")))
	list := d.delivered("main")
	equal(t, "delivered, the first", []any{len(list), list[0]}, []any{many, "main_b1 completed result of main_b1 0.00"})
	for range 251 {
		d.fork("main", "B.md", cost(1))
	}
	n := len(d.run.Ended)
	assert.Check(t, n <= 1502, "results afterwards: got %d, want the last thousand and those of new forks", n)
	assert.NilError(t, d.run.Validate())
	d.launch("main", moveOutcome(1, join("A.md")))
	equal(t, "delivered later", len(d.delivered("main")), 251)
}

// TestEndOfAWaitIsWork checks that a run has work when a wait ends, even if the agent then waits for another
// job. A process must resume the run in this case, because only then is that job reported.
func TestEndOfAWaitIsWork(t *testing.T) {
	here := anywhere
	here.Jobs = []string{protocol.MainJob}
	here.JobOf = func(name string) string { return map[string]string{"B.md": "publish"}[name] }
	p := newPlay(t, nil)
	p.turn("main", protocol.Move{Verb: protocol.Goto, To: "B.md", Input: "in", After: time.Hour})
	p.settle(here)
	p.do(func(s *state.Step) { s.Close(s.Closing(nil)) })
	for wait, want := range map[time.Duration]bool{time.Minute: false, 2 * time.Hour: true} {
		assert.Check(t, is.Equal(p.run.HasWork(p.now.Add(wait), here, 0), want), "due after %v", wait)
	}
	p.now = p.now.Add(2 * time.Hour)
	p.do(func(s *state.Step) { s.Resume(nil); s.UpdateWaits(here); s.Close(s.Closing(nil)) })
	equal(t, "waits", p.waits(), []string{"main job"})
	assert.Check(t, !p.run.HasWork(p.now, here, 0), "a run that waits for another job: got it due, want it left alone")
}

// TestAnswersMatchChoicesLoosely checks that MatchAnswer ignores case and surrounding spaces, and that it
// returns the answer to a question without choices unchanged.
func TestAnswersMatchChoicesLoosely(t *testing.T) {
	for _, c := range []struct {
		choices    []string
		text, want string
		ok         bool
	}{
		{[]string{"Yes", "No, thanks"}, " yes\n", "Yes", true},
		{[]string{"Yes", "No, thanks"}, "no, THANKS", "No, thanks", true},
		{[]string{"Yes", "No, thanks"}, "no", "", false},
		{[]string{"Yes"}, "", "", false},
		{nil, " as it is \n", " as it is \n", true},
		{nil, "", "", true},
	} {
		q := state.Question{Choices: c.choices}
		if got, ok := q.MatchAnswer(c.text); got != c.want || ok != c.ok {
			t.Errorf("%q of %q: got %q, %v, want %q, %v", c.text, c.choices, got, ok, c.want, c.ok)
		}
	}
}
