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
)

// anywhere is a process that runs every state and asks nobody.
var anywhere = state.Here{NewToken: func() string { return strings.Repeat("ab", 16) }}

// settle begins and ends waits at the time of the play.
func (p *play) settle(h state.Here) {
	p.t.Helper()
	p.do(func(s *state.Step) { s.Settle(h) })
}

// fork has an agent fork another one, which begins at B.md, and returns its name.
func (p *play) fork(parent string) string {
	p.t.Helper()
	p.turn(parent, goTo("A.md"), protocol.Spawn{State: "B.md", Next: "A.md"})
	return p.run.Agents[len(p.run.Agents)-1].ID
}

func join(to string) protocol.Move { return protocol.Move{Verb: protocol.Join, To: to} }

func ask(to, text string) protocol.Move {
	return protocol.Move{Verb: protocol.Ask, To: to, Question: &protocol.Question{Text: text}}
}

func askFor(wait time.Duration) protocol.Move {
	m := ask("B.md", "Shall I?")
	m.Question.Timeout, m.Question.TimeoutNext = wait, "C.md"
	return m
}

func after(to string, wait time.Duration) protocol.Move {
	return protocol.Move{Verb: protocol.Goto, To: to, Input: "in", After: wait}
}

// delivered is what a join has delivered to an agent, as short words.
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

// waits are the agents that wait, and for what.
func (p *play) waits() []string {
	words := []string{}
	for _, w := range p.run.Waiting() {
		words = append(words, w.Agent+" "+string(w.For))
	}
	return words
}

func (p *play) status(id string) state.AgentStatus {
	p.t.Helper()
	return p.agent(id).Status
}

func TestAMoveCanWaitForATime(t *testing.T) {
	p := newPlay(t, nil)
	p.turn("main", after("B.md", time.Minute))
	a := p.agent("main")
	equal(t, "waits at", []any{a.State, a.Status, string(a.Payload), a.Exec == nil}, []any{"B.md", state.Waiting, "in", true})
	equal(t, "shown", p.run.Waiting(), []state.Wait{{Agent: "main", For: state.ForTime, Until: "2026-01-02T03:05:05Z"}})
	equal(t, "told", *bodies[*state.AgentWaits](p)[0], state.AgentWaits{For: state.ForTime, Until: "2026-01-02T03:05:05Z"})
	due := epoch.Add(time.Minute)
	equal(t, "due", []time.Time{p.run.Step(p.now).DueTime(), p.run.Step(p.now).SettleTime(anywhere)}, []time.Time{due, due})
	equal(t, "wakes for retries", p.run.Step(p.now).WakeTime(), time.Time{})
	p.now = due.Add(-1)
	p.settle(anywhere)
	equal(t, "too early", p.status("main"), state.Waiting)
	p.now = due
	p.settle(anywhere)
	equal(t, "then", []any{p.next(0), string(p.agent("main").Payload)}, []any{"main", "in"})
	equal(t, "told", *bodies[*state.AgentGoesOn](p)[0], state.AgentGoesOn{By: "time"})
	equal(t, "waiting", p.run.Waiting(), []state.Wait{})
}

func TestQuestionsAreNumberedAndAnsweredOnce(t *testing.T) {
	p := newPlay(t, nil)
	p.turn("main", ask("B.md", "Which <b>one</b>?"))
	p.settle(anywhere)
	q := p.agent("main").Waits.Question
	equal(t, "question", []any{q.Number, string(q.Text), q.Token, q.Comment}, []any{1, "Which <b>one</b>?", strings.Repeat("ab", 16), int64(0)})
	told := bodies[*state.AgentWaits](p)[0]
	equal(t, "told", []any{told.For, told.Number, told.Question}, []any{state.ForAnswer, 1, "Which <b>one</b>?"})
	p.do(func(s *state.Step) {
		s.NoteComment("main", 1, 77)
		s.NoteComment("main", 2, 78)
		s.Answer("main", 2, state.Answer{Text: "no", By: "x"})
		s.Answer("nobody", 1, state.Answer{Text: "no", By: "x"})
		s.TimeOut("main", 1) // it has none
	})
	equal(t, "still waits", []any{p.status("main"), p.agent("main").Waits.Question.Comment}, []any{state.Waiting, int64(77)})
	p.do(func(s *state.Step) {
		s.Answer("main", 1, state.Answer{Text: "this", By: "octocat"})
		s.Answer("main", 1, state.Answer{Text: "that", By: "hubot"})
		s.Settle(anywhere)
	})
	a := p.agent("main")
	equal(t, "continues with", []any{a.State, a.Status, string(a.Payload)}, []any{"B.md", state.Ready, "this"})
	equal(t, "told", *bodies[*state.AgentGoesOn](p)[0], state.AgentGoesOn{By: "octocat"})
	p.turn("main", ask("C.md", "And now?"))
	equal(t, "the next number", p.agent("main").Waits.Question.Number, 2)
	p.do(func(s *state.Step) { s.Answer("main", 1, state.Answer{Text: "late", By: "x"}) })
	equal(t, "an answer to the first", p.status("main"), state.Waiting)
}

// TestAQuestionTimesOut once all answers are known that came in time.
func TestAQuestionTimesOut(t *testing.T) {
	p := newPlay(t, nil)
	p.turn("main", askFor(time.Hour))
	p.now = epoch.Add(time.Hour)
	asked := []time.Time{}
	known := false
	reading := state.Here{HasRead: func(before time.Time) bool {
		asked = append(asked, before)
		return known
	}}
	p.settle(reading)
	equal(t, "while answers are read", []any{p.status("main"), p.run.Step(p.now).SettleTime(reading)}, []any{state.Waiting, time.Time{}})
	equal(t, "asked for", asked[0], epoch.Add(time.Hour))
	known = true
	equal(t, "then", p.run.Step(p.now).SettleTime(reading), epoch.Add(time.Hour))
	late := p.run
	p.settle(reading)
	a := p.agent("main")
	equal(t, "continues at", []any{a.State, a.Status, string(a.Payload)}, []any{"C.md", state.Ready, ""})
	last := p.events[len(p.events)-1]
	equal(t, "told", []any{last.State, *last.Body.(*state.AgentGoesOn)}, []any{"C.md", state.AgentGoesOn{By: "timeout"}})

	p.run = late
	p.now = epoch.Add(1000 * time.Hour)
	p.do(func(s *state.Step) {
		s.Answer("main", 1, state.Answer{Text: "late, and still in time", By: "x"})
		s.Settle(anywhere)
	})
	a = p.agent("main")
	equal(t, "a late answer", []any{a.State, string(a.Payload)}, []any{"B.md", "late, and still in time"})
	equal(t, "held for", p.run.Step(p.now).DueTime(), time.Time{})
}

// TestAJoinDeliversInTheOrderOfForking: each of the agent's own, followed by those of its
// descendants that no join of theirs has delivered, each once.
func TestAJoinDeliversInTheOrderOfForking(t *testing.T) {
	p := newPlay(t, nil)
	one := p.fork("main")
	two := p.fork("main")
	oneOne, oneTwo := p.fork(one), p.fork(one)
	twoOne := p.fork(two)
	deep := p.fork(oneOne)
	equal(t, "names", []string{one, two, oneOne, oneTwo, twoOne, deep},
		[]string{"main_b1", "main_b2", "main_b1_b1", "main_b1_b2", "main_b2_b1", "main_b1_b1_b1"})
	p.turn("main", join("C.md"))
	p.turn(two, join("C.md"))
	equal(t, "waits", p.waits(), []string{"main agents", "main_b2 agents"})
	p.turn(twoOne, result("of two"))
	p.settle(anywhere)
	equal(t, "delivered to two", p.delivered(two), []string{"main_b2_b1 completed of two 0.01"})
	p.turn(two, result("two"))
	p.turn(deep, result("deep"))
	p.turn(oneTwo, result("last"))
	p.turn(one, result("one"))
	p.settle(anywhere)
	equal(t, "with one left", p.status("main"), state.Waiting)
	p.turn(oneOne, result("first"))
	p.settle(anywhere)
	want := []string{
		"main_b1 completed one 0.03", "main_b1_b1 completed first 0.02", "main_b1_b1_b1 completed deep 0.01",
		"main_b1_b2 completed last 0.01", "main_b2 completed two 0.03",
	}
	equal(t, "delivered", p.delivered("main"), want)
	for _, e := range p.run.Ended {
		equal(t, e.Agent+" is delivered", e.Delivered, true)
	}
	equal(t, "told", bodies[*state.AgentGoesOn](p)[1].By, "agents")
	p.turn("main", join("A.md"))
	equal(t, "a second join", []any{p.status("main"), string(p.agent("main").Payload)}, []any{state.Ready, "[]"})
	equal(t, "waits told", len(bodies[*state.AgentWaits](p)), 2)
}

// TestAJoinDeliversFailuresOnce where others continue in spite of them. They are not tried
// again, and the run is clean.
func TestAJoinDeliversFailuresOnce(t *testing.T) {
	p := newPlay(t, func(o *state.Options) { o.KeepGoing = true })
	bad, good := p.fork("main"), p.fork("main")
	child := p.fork(bad)
	p.ends(bad, fail(state.Fatal, "no such model"))
	p.turn("main", join("C.md"))
	p.turn(good, result("good"))
	p.settle(anywhere)
	equal(t, "with what the failed one has forked", p.status("main"), state.Waiting)
	p.turn(child, result("child"))
	p.settle(anywhere)
	equal(t, "delivered", p.delivered("main"), []string{
		"main_b1 failed no such model 0.01", "main_b1_b1 completed child 0.01", "main_b2 completed good 0.01",
	})
	equal(t, "ended", p.run.Ended[2], state.Ending{Agent: bad, Error: "no such model", Parent: "main", N: 2, Delivered: true})
	p.resume(nil)
	equal(t, "agents left", len(p.run.Agents), 1)
	p.turn("main", result("x"))
	p.do(func(s *state.Step) { s.Close(s.Closing(nil)) })
	end := bodies[*state.RunFinished](p)[0]
	equal(t, "end", []string{string(end.Status), end.Outcome}, []string{"completed", "clean"})
}

// TestAFailureBesideAWaitIsNotTriedAgain by a resume that may bring what is waited for.
func TestAFailureBesideAWaitIsNotTriedAgain(t *testing.T) {
	waits := map[string]struct {
		move  protocol.Move
		tries bool
	}{
		"answer": {ask("C.md", "?"), false}, "time": {after("C.md", time.Hour), false}, "agents": {join("C.md"), true},
	}
	for what, c := range waits {
		p := newPlay(t, func(o *state.Options) { o.KeepGoing = true })
		bad, other := p.fork("main"), p.fork("main")
		p.fork(other)
		p.ends(bad, fail(state.Fatal, "no"))
		p.turn(other, c.move)
		p.settle(anywhere)
		p.do(func(s *state.Step) {
			s.Close(s.Closing(&state.Stop{Status: state.Suspended, Reason: "deadline"}))
		})
		p.resume(nil)
		equal(t, what+": tried again", p.status(bad) == state.Ready, c.tries)
		p.do(func(s *state.Step) { s.Close(s.Closing(&state.Stop{Status: state.Cancelled})) })
		p.resume(nil)
		equal(t, what+": tried again after a cancel", p.status(bad), state.Ready)
	}
}

// TestJobs: an agent whose state another job runs waits for it, under a number of its own
// each time, also with an execution that was cut off.
func TestJobs(t *testing.T) {
	jobs := map[string]string{"A.md": "main", "B.md": "publish", "C.md": "main"}
	here := func(names ...string) state.Here {
		return state.Here{Jobs: names, JobOf: func(s string) string { return jobs[s] }}
	}
	p := newPlay(t, nil)
	p.turn("main", after("B.md", time.Minute))
	p.settle(here("main"))
	equal(t, "first the time", p.waits(), []string{"main time"})
	p.now = p.now.Add(time.Minute)
	p.settle(here("main"))
	equal(t, "then the job", []any{p.waits(), p.run.NextJobs(), p.agent("main").Handed}, []any{[]string{"main job"}, []string{"publish"}, 1})
	p.settle(here("main", "other"))
	equal(t, "told", []any{len(bodies[*state.AgentWaits](p)), bodies[*state.AgentWaits](p)[1].Job}, []any{2, "publish"})
	end := p.closed(nil)
	equal(t, "end", []any{end.Status, end.Reason, end.Until}, []any{state.Suspended, "main waits for the job publish", time.Time{}})
	p.settle(here("publish"))
	equal(t, "there", []any{p.next(0), bodies[*state.AgentGoesOn](p)[1].By}, []any{"main", "publish"})
	p.ends("main", fail(state.Stopped, "cancelled"))
	p.do(func(s *state.Step) {
		s.Resume(nil)
		s.Settle(here("main"))
	})
	a := p.agent("main")
	equal(t, "cut off, and resumed elsewhere", []any{a.Status, a.Waits.Job, a.Handed, a.Exec != nil}, []any{state.Waiting, "publish", 2, true})
	p.settle(state.Here{})
	equal(t, "where every state runs", []any{p.next(0), p.run.NextJobs()}, []any{"main", []string{}})
	p.turn("main", ask("B.md", "?"))
	p.do(func(s *state.Step) {
		s.Answer("main", 1, state.Answer{Text: "x", By: "cli"})
		s.Settle(here("main"))
	})
	equal(t, "an answer for another job", []any{p.waits(), string(p.agent("main").Payload)}, []any{[]string{"main job"}, "x"})
}

// TestAPartLeavesOthersAlone: they are not begun, tried again, answered, delivered to or
// retried; those that its agents fork belong to it.
func TestAPartLeavesOthersAlone(t *testing.T) {
	p := newPlay(t, func(o *state.Options) { o.KeepGoing = true })
	mine, asks, ready, bad := p.fork("main"), p.fork("main"), p.fork("main"), p.fork("main")
	child := p.fork(mine)
	p.turn(asks, ask("A.md", "?"))
	p.ends(bad, fail(state.Fatal, "no"))
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
		s.Settle(state.Here{Part: []string{mine}, Jobs: []string{"work"}, JobOf: func(string) string { return "work" }})
	})
	equal(t, "waits", p.waits(), []string{"main agents", asks + " answer"})
	next := func() string {
		s := p.run.Step(p.now)
		s.Restrict([]string{mine})
		a, ok := s.Next(0)
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
		s.Settle(state.Here{Part: []string{mine}})
		s.Close(s.Closing(nil))
	})
	equal(t, "end", []any{p.run.Progress.Status, p.status("main")}, []any{state.Suspended, state.Waiting})
}

// TestEachAgentIsOfOnePart: a child that was handed over is not its parent's part's, too.
func TestEachAgentIsOfOnePart(t *testing.T) {
	p := newPlay(t, nil)
	p.turn("main", goTo("A.md"), protocol.Spawn{State: "B.md", Next: "C.md"})
	jobOf := func(string) string { return "work" }
	p.do(func(s *state.Step) {
		s.Settle(state.Here{Jobs: []string{"plan"}, JobOf: jobOf})
		s.Close(s.Closing(nil))
		s.HandOver("work", 2)
	})
	for _, part := range p.run.Parts.Matrix() {
		s := part.Begin(p.run).Step(p.now)
		mine := part.Agents[0].Agent
		s.Settle(state.Here{Jobs: []string{"work"}, JobOf: jobOf, Part: []string{mine}})
		for a := range s.Agents() {
			equal(t, a.ID+" runs in the part of "+mine, a.Status == state.Ready, a.ID == mine)
		}
	}
}

// TestHowARunOfWaitsEnds: suspended, until the first time that comes, with at most three
// reasons; a limit, a failure and a cancel come first.
func TestHowARunOfWaitsEnds(t *testing.T) {
	waiting := func(change func(*state.Options)) *play {
		p := newPlay(t, change)
		ids := []string{p.fork("main"), p.fork("main"), p.fork("main"), p.fork("main")}
		p.turn(ids[0], ask("A.md", "?"))
		p.turn(ids[1], askFor(2*time.Hour))
		p.turn(ids[2], after("A.md", 3*time.Hour))
		p.turn(ids[3], askFor(4*time.Hour))
		p.turn("main", join("C.md"))
		return p
	}
	p := waiting(nil)
	end := p.closed(nil)
	equal(t, "status, until", []any{end.Status, end.Until}, []any{state.Suspended, epoch.Add(2 * time.Hour)})
	equal(t, "reason", end.Reason, "main_b1 waits for an answer to question 1, main_b2 waits for an answer to question 2, "+
		"main_b3 waits until 2026-01-02 06:04:05 UTC, and 1 more")
	end = p.closed(&state.Stop{Status: state.Suspended, Reason: "deadline", Continuations: 3})
	equal(t, "at a deadline", []any{end.Reason == "deadline", end.Continuing}, []any{false, state.Continuing("")})
	equal(t, "cancelled", p.closed(&state.Stop{Status: state.Cancelled, Reason: "SIGINT"}).Status, state.Cancelled)

	p = waiting(func(o *state.Options) { o.BudgetUSD = state.Dollar / 20 })
	equal(t, "over budget", []any{p.closed(nil).Status, p.run.Step(p.now).DueTime(), p.run.Step(p.now).IsAsking()}, []any{state.OverBudget, time.Time{}, false})
	for keepGoing, want := range map[bool]state.Status{false: state.Failed, true: state.Suspended} {
		p = newPlay(t, func(o *state.Options) { o.KeepGoing = keepGoing })
		bad := p.fork("main")
		p.turn("main", ask("C.md", "?"))
		p.ends(bad, fail(state.Fatal, "no"))
		equal(t, "beside a failure", []any{p.closed(nil).Status, p.run.Step(p.now).IsAsking()}, []any{want, keepGoing})
	}
}

// TestWhatAJoinWaitsForIsKept however much it is, and no longer than that.
func TestWhatAJoinWaitsForIsKept(t *testing.T) {
	d := newDispatcher(t)
	d.step(func(s *state.Step) { s.Settle(state.Here{HasJoin: true}) })
	const many = 2600
	for range many {
		d.fork("main", "B.md", cost(1))
	}
	equal(t, "kept", len(d.run.Ended), many)
	assert.NilError(t, d.run.Validate())
	d.launch("main", moves(1, join("A.md")))
	list := d.delivered("main")
	equal(t, "delivered, the first", []any{len(list), list[0]}, []any{many, "main_b1 completed result of main_b1 0.00"})
	for range 251 {
		d.fork("main", "B.md", cost(1))
	}
	n := len(d.run.Ended)
	assert.Check(t, n <= 1502, "kept afterwards: got %d, want the last thousand and what may be joined", n)
	assert.NilError(t, d.run.Validate())
	d.launch("main", moves(1, join("A.md")))
	equal(t, "delivered later", len(d.delivered("main")), 251)
}

// TestAWaitThatEndsIsDue, although another one follows it: the job that is waited for is
// told only then.
func TestAWaitThatEndsIsDue(t *testing.T) {
	here := anywhere
	here.Jobs = []string{protocol.MainJob}
	here.JobOf = func(name string) string { return map[string]string{"B.md": "publish"}[name] }
	p := newPlay(t, nil)
	p.turn("main", after("B.md", time.Hour))
	p.settle(here)
	p.do(func(s *state.Step) { s.Close(s.Closing(nil)) })
	for wait, want := range map[time.Duration]bool{time.Minute: false, 2 * time.Hour: true} {
		assert.Check(t, is.Equal(p.run.IsDue(p.now.Add(wait), here, 0), want), "due after %v", wait)
	}
	p.now = p.now.Add(2 * time.Hour)
	p.do(func(s *state.Step) { s.Resume(nil); s.Settle(here); s.Close(s.Closing(nil)) })
	equal(t, "waits", p.waits(), []string{"main job"})
	assert.Check(t, !p.run.IsDue(p.now, here, 0), "a run that waits for another job: got it due, want it left alone")
}
