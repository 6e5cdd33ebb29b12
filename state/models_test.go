package state_test

import (
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// shares is a cost of a dollar, of which some is known by model.
func shares(kind state.CostKind, byModel ...state.ModelCost) state.Cost {
	return state.Cost{Kind: kind, USD: state.Dollar, Usage: byModel}
}

func share(model string, usd state.USD) state.ModelCost {
	return state.ModelCost{Usage: state.Usage{Model: model, Input: 1}, CostUSD: usd}
}

// TestCostByModel: the shares of all invocations of an execution add up, those
// of failed ones, refused answers and attempts too, whether or not the process
// dies between any two of them. What is known only as a sum is nobody's share.
func TestCostByModel(t *testing.T) {
	outcomes := []state.Outcome{
		{Cost: shares(state.Exact, share("opus", 3), share("haiku", 1)), Failure: &state.Failure{Class: state.Transient, Message: "x"}},
		{Cost: shares(state.Exact, share("opus", 5), share("free", 0)), Problems: []protocol.Problem{{Message: "no tag"}}, Reminder: "again"},
		{Cost: shares(state.Estimated, share("haiku", 7)), Decision: protocol.Decision{Then: goTo("B.md")}},
		{Cost: shares(state.Exact), Failure: &state.Failure{Class: state.Transient, Message: "x"}},
		{Cost: shares(state.Exact, share("sonnet", 11)), Decision: protocol.Decision{Then: goTo("B.md")}},
	}
	want := map[string]state.USD{"opus": 8, "haiku": 8, "sonnet": 11}
	for died := range len(outcomes) + 1 {
		p := newPlay(t, nil)
		p.policies["A.md"] = protocol.Policy{Convergence: &protocol.Convergence{DoneWhen: []string{"make"}, MaxAttempts: 3}}
		for n, o := range outcomes {
			if n == died {
				p.reread()
				p.resume(nil)
			}
			p.now = p.now.Add(time.Hour)
			p.start("main")
			p.end("main", o)
			if p.agent("main").Exec.Phase == state.PhaseVerify {
				p.endVerification("main", n == len(outcomes)-1)
			}
		}
		done := bodies[*state.StateFinished](p)
		equal(t, "executions that ended", len(done), 1)
		equal(t, "cost", done[0].CostUSD, 5*state.Dollar)
		equal(t, "cost by model", done[0].Models, want)
	}
}

// reread continues with what the file of the run holds.
func (p *play) reread() {
	p.t.Helper()
	data, err := p.run.Encode()
	if err != nil {
		p.t.Fatal(err)
	}
	if p.run, err = state.Decode(data); err != nil {
		p.t.Fatal(err)
	}
}

// endVerification ends the verification of an attempt.
func (p *play) endVerification(id string, converged bool) {
	p.t.Helper()
	p.start(id)
	rc := 1
	if converged {
		rc = 0
	}
	p.do(func(s *state.Step) {
		a, _ := s.Agent(id)
		s.EndVerification(id, p.state(a.State), state.Verification{Results: []state.CommandResult{{Cmd: "make", RC: rc}}})
	})
}

// TestCostByModelOfOneExecution: another execution begins with nothing, and one
// that continues after a failure reports what came after it.
func TestCostByModelOfOneExecution(t *testing.T) {
	p := newPlay(t, nil)
	p.start("main")
	p.end("main", state.Outcome{
		Cost: shares(state.Exact, share("opus", 1)), Failure: &state.Failure{Class: state.Fatal, Message: "out of turns", Continue: true},
	})
	p.resume(nil)
	p.start("main")
	p.end("main", state.Outcome{Cost: shares(state.Exact, share("opus", 2)), Decision: protocol.Decision{Then: goTo("B.md")}})
	p.turn("main", goTo("C.md"))
	done := bodies[*state.StateFinished](p)
	equal(t, "when it failed", done[0].Models, map[string]state.USD{"opus": 1})
	equal(t, "when it had gone on", done[1].Models, map[string]state.USD{"opus": 2})
	equal(t, "the next one", done[2].Models, map[string]state.USD(nil))
}
