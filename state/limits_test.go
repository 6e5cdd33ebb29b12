package state_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// closed returns how the run would end now.
func (p *play) closed(stop *state.Stop) state.Progress {
	p.t.Helper()
	step := p.run.Step(p.now)
	step.Close(step.Closing(stop))
	return step.Delta().Progress
}

// TestOrderOfEnds: cancelled before over budget, over budget before over
// iterations, that before suspended, that before failed; and the names of the ends.
func TestOrderOfEnds(t *testing.T) {
	until := epoch.Add(time.Hour)
	cancel := &state.Stop{Status: state.Cancelled, Reason: "SIGINT"}
	deadline := &state.Stop{Status: state.Suspended, Reason: "deadline", Until: until}
	spent := func(p *play) { p.ends("main", moves(11*state.Dollar, goTo("B.md"))) }
	begun := func(p *play) { p.turn("main", goTo("B.md")) }
	held := func(p *play) {
		p.ends("main", state.Outcome{Failure: &state.Failure{Class: state.UsageLimit, Message: "limit", Reset: until}})
	}
	stuck := func(p *play) { p.ends("main", fail(state.Fatal, "no")) }
	tries := func(words, exhausted string) func(*play) {
		return func(p *play) {
			p.tries(protocol.Convergence{MaxAttempts: 2, OnExhausted: exhausted})
			p.try(words)
			if strings.HasSuffix(words, "pass") {
				p.turn("main", result("done"))
				p.turn("main_c1", result("done"))
			}
		}
	}
	one := func(o *state.Options) { o.MaxIterations = 1 }
	for _, c := range []struct {
		name  string
		limit func(*state.Options)
		does  func(*play)
		stop  *state.Stop
		want  string
	}{
		{"over budget and cancelled", one, spent, cancel, "cancelled"},
		{"over budget, iterations and deadline", one, spent, deadline, "over_budget"},
		{"over budget, and no attempts left", func(o *state.Options) { o.BudgetUSD = 1 }, tries("work fail work fail", "suspend"), nil, "over_budget"},
		{"over iterations and deadline", one, begun, deadline, "over_iterations"},
		{"over iterations and a usage limit", one, held, nil, "over_iterations"},
		{"a usage limit", nil, held, nil, "suspended"},
		{"a usage limit and the deadline", nil, held, deadline, "suspended"},
		{"the deadline", nil, begun, deadline, "suspended"},
		{"no attempts left", nil, tries("work fail work fail", "suspend"), nil, "suspended"},
		{"failed", nil, stuck, nil, "failed catastrophic"},
		{"failed, and over iterations", one, stuck, nil, "failed catastrophic"},
		{"failed beside one that ended", nil, func(p *play) { p.turn(p.fork("main"), result("done")); stuck(p) }, nil, "failed partial"},
		{"failed, and cancelled", nil, stuck, cancel, "cancelled"},
		{"done at once", nil, tries("work pass", "fail"), nil, "clean"},
		{"done after a failed attempt", nil, tries("work fail work pass", "fail"), nil, "clean_with_flake"},
		{"a result that ends the last agent, over everything", one, func(p *play) { p.ends("main", moves(11*state.Dollar, result("r"))) }, cancel, "clean"},
	} {
		p := newPlay(t, c.limit)
		c.does(p)
		p.do(func(s *state.Step) { s.Close(s.Closing(c.stop)) })
		end := bodies[*state.RunFinished](p)[0]
		equal(t, c.name, strings.TrimSpace(end.Outcome+" "+end.Detail), c.want)
	}
}

// TestOverBudget: exceeded means above; then nothing starts, also no retry and no
// reminder, and the move is kept. With a larger budget the run continues.
func TestOverBudget(t *testing.T) {
	p := newPlay(t, nil)
	p.ends("main", moves(10*state.Dollar, goTo("B.md")))
	equal(t, "at the budget", p.next(0), "main")
	p.ends("main", state.Outcome{Cost: cost(1), Failure: &state.Failure{Class: state.Transient, Message: "x"}})
	p.now = p.now.Add(time.Hour)
	equal(t, "a retry above it", p.next(0), "")
	equal(t, "no wake", p.run.Step(p.now).WakeTime(), time.Time{})
	if got := p.closed(nil); got.Status != state.OverBudget || !strings.Contains(got.Reason, "$10.000000001") {
		t.Errorf("end: got %q, %q; want over_budget with the sum", got.Status, got.Reason)
	}
	p.resume(nil)
	equal(t, "resumed with the same", p.next(0), "")
	p.resume(func(o *state.Options) { o.BudgetUSD = 11 * state.Dollar })
	equal(t, "resumed with more", p.next(0), "main")
	equal(t, "where", p.agent("main").State, "B.md")
	p.resume(func(o *state.Options) { o.BudgetUSD = 0 })
	equal(t, "resumed without", p.next(0), "main")

	p = newPlay(t, nil)
	p.start("main")
	p.do(func(s *state.Step) {
		s.End("main", p.state("A.md"), moves(11*state.Dollar, goTo("A.md")))
		s.Close(s.Closing(nil))
	})
	equal(t, "told, when one state costs more than there is", len(bodies[*state.Limit](p)), 1)
}

// TestInvocationAtItsBudget: an agent CLI that ended at its cap makes the run over
// budget whatever the sum says; a resume continues its session.
func TestInvocationAtItsBudget(t *testing.T) {
	p := newPlay(t, nil)
	p.ends("main", state.Outcome{Session: "s1", Cost: cost(1), Failure: &state.Failure{Class: state.BudgetSpent, Message: "cap"}})
	equal(t, "next", p.next(0), "")
	equal(t, "end", p.closed(nil).Status, state.OverBudget)
	p.resume(nil)
	plan := p.plan("main")
	equal(t, "plan", []any{plan.Mode, plan.Session.ID, p.next(0)}, []any{state.Resume, "s1", "main"})
	p.start("main")
	equal(t, "executions begun", len(bodies[*state.StateStarted](p)), 1)
	equal(t, "retries", p.agent("main").Exec.Retries, 0)

	p = newPlay(t, func(o *state.Options) { o.Caps = []state.Cap{state.NewCap(state.BudgetPerKey, 50*cent, 20*cent, 0)} })
	p.ends("main", state.Outcome{Cost: cost(29 * cent), Failure: &state.Failure{Class: state.BudgetSpent, Message: "its budget is used up", Continue: true}})
	equal(t, "the share of a cap", p.closed(nil).Reason,
		"budget-per-key: the runs of this key have spent $0.49 of $0.5 in 24 hours, and its agents have reached their share of what was left")
}

// TestIterationsCountExecutions: retries and reminders are none; after the last
// one those continue, and nothing new begins.
func TestIterationsCountExecutions(t *testing.T) {
	p := newPlay(t, func(o *state.Options) { o.MaxIterations = 2 })
	p.turn("main", goTo("B.md"))
	p.ends("main", refused)
	equal(t, "a reminder of the last", p.next(0), "main")
	p.turn("main", goTo("C.md"))
	equal(t, "a third", p.next(0), "")
	equal(t, "end", p.closed(nil).Status, state.OverIterations)
	p.do(func(s *state.Step) { s.Close(s.Closing(nil)) })
	equal(t, "told", *bodies[*state.Limit](p)[0], state.Limit{Which: "iterations", Value: 2, Max: 2})
	p.resume(func(o *state.Options) { o.MaxIterations = 3 })
	equal(t, "with more", p.next(0), "main")
}

// TestSlotsAreGivenInTurn: executions under way first, then the next in the order of
// creation after the one that had the last slot.
func TestSlotsAreGivenInTurn(t *testing.T) {
	p := newPlay(t, nil)
	fork := protocol.Spawn{State: "B.md", Next: "A.md"}
	p.turn("main", goTo("A.md"), fork, fork)
	order := []string{}
	for range 6 {
		id := p.next(0)
		order = append(order, id)
		p.turn(id, goTo("A.md"))
	}
	equal(t, "order", order, []string{"main_b1", "main_b2", "main", "main_b1", "main_b2", "main"})
	p.ends("main_b1", refused)
	equal(t, "a reminder comes first", p.next(0), "main_b1")
	equal(t, "a slot is free", p.next(2), "main_b1")
	equal(t, "no slot is free", p.next(3), "")
	p.start("main_b1")
	equal(t, "an agent that runs", p.next(1), "main_b2")
}

// TestFailureKeepsOthersFromStarting, unless the run keeps going.
func TestFailureKeepsOthersFromStarting(t *testing.T) {
	for keep, next := range map[bool]string{false: "", true: "main"} {
		p := newPlay(t, func(o *state.Options) { o.KeepGoing = keep })
		bad := p.fork("main")
		p.ends(bad, fail(state.Fatal, "no"))
		equal(t, "next", []string{p.next(0), p.closed(nil).Reason}, []string{next, "agent main_b1 in state B.md: no"})
	}
}

// TestBudgetOfAnInvocation: what is left, shared by those that run, a cent at least.
func TestBudgetOfAnInvocation(t *testing.T) {
	p := newPlay(t, nil)
	p.turn("main", goTo("A.md"), protocol.Spawn{State: "B.md", Next: "A.md"})
	step := func() state.USD { return p.run.Step(p.now).InvocationBudget() }
	equal(t, "nobody runs", step(), 999*state.Dollar/100)
	p.start("main")
	equal(t, "one runs", step(), 999*state.Dollar/100)
	p.start("main_b1")
	equal(t, "two run", step(), 999*state.Dollar/200)
	p.end("main_b1", moves(9_985*state.Dollar/1000, goTo("B.md")))
	equal(t, "less than a cent is left", step(), state.Dollar/100)
	p.resume(func(o *state.Options) { o.BudgetUSD = 0 })
	equal(t, "no budget", step(), state.USD(0))
}

// TestLimitsFailTheAgent: too many agents or too deep a stack is the failure of the agent that
// asked, and nothing of the move happens.
func TestLimitsFailTheAgent(t *testing.T) {
	p := newPlay(t, func(o *state.Options) { o.MaxAgents, o.MaxDepth = 2, 1 })
	fork := protocol.Spawn{State: "B.md", Next: "A.md"}
	p.turn("main", goTo("A.md"), fork, fork)
	equal(t, "agents", []any{p.agent("main").Status, p.run.Progress.Created}, []any{state.Stuck, 1})
	equal(t, "limit", *bodies[*state.Limit](p)[0], state.Limit{Which: "agents", Value: 3, Max: 2})
	p.resume(nil)
	for n := range 5 { // those that have ended don't count
		p.turn("main", goTo("A.md"), fork)
		p.turn(fmt.Sprint("main_b", 1+n), result("done"))
	}
	equal(t, "agents in all", []any{p.agent("main").Status, p.run.Progress.Created}, []any{state.Ready, 6})
	p.turn("main", goTo("A.md"), fork)
	p.turn("main", call("B.md", "A.md"))
	p.turn("main", function("B.md", "A.md", ""))
	equal(t, "depth", []any{p.agent("main").Status, len(p.agent("main").Stack)}, []any{state.Stuck, 1})
	equal(t, "limit", *bodies[*state.Limit](p)[1], state.Limit{Which: "depth", Value: 2, Max: 1})
}
