package state_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// play drives a run step by step. It checks after each step that the run is valid.
type play struct {
	t   *testing.T
	run *state.Run
	now time.Time
	// ids counts the ids of conversations that start has assigned.
	ids      int
	policies map[string]protocol.Policy
	events   []state.Event // all events so far
	flow     *protocol.Workflow
}

// newPlay begins a run. If change is not nil, newPlay first calls it to change the run's options.
func newPlay(t *testing.T, change func(*state.Options)) *play {
	t.Helper()
	p := &play{t: t, run: statetest.NewRun(), now: statetest.Epoch, policies: map[string]protocol.Policy{}}
	if change != nil {
		change(&p.run.Options)
	}
	p.do(func(s *state.Step) { s.Begin() })
	return p
}

// do makes one step of the run and adds its events to p.events.
func (p *play) do(f func(*state.Step)) {
	p.t.Helper()
	step := p.run.Step(p.now)
	f(step)
	next := p.run.With(step.Delta())
	if len(next.Agents) == 0 && next.Progress.Status == state.Running {
		ended := *next // the runner closes the run in the same step
		ended.Progress.Status = state.Completed
		next = &ended
	}
	assert.NilError(p.t, next.Validate(), "step %d", next.Progress.Seq)
	p.run, p.events = next, append(p.events, next.Events...)
}

// resume simulates a new process that resumes the saved run. If change is not nil, it changes the run's
// options. used is the usage that the transcripts of interrupted invocations contain.
func (p *play) resume(change func(*state.Options), used ...state.ModelCost) {
	p.t.Helper()
	p.do(func(s *state.Step) {
		if change != nil {
			o := p.run.Options
			change(&o)
			s.Override(o, p.run.Files)
		}
		lost := map[string]state.Outcome{}
		for _, a := range p.run.InterruptedAgents() {
			lost[a.ID] = state.Outcome{Used: used}
		}
		s.Resume(lost)
	})
}

// agent returns the agent with this id, which must exist.
func (p *play) agent(id string) *state.Agent {
	p.t.Helper()
	a, ok := p.run.Agent(id)
	assert.Assert(p.t, ok, "no agent %s", id)
	return a
}

// state returns the state with this name, from p.flow or, if that is nil, with the policy in p.policies.
func (p *play) state(name string) *protocol.State {
	if p.flow != nil {
		st, _ := p.flow.State(name)
		return st
	}
	st := statetest.StateOf(name)
	st.Policy = p.policies[name]
	return st
}

// plan returns the plan for the next invocation of an agent.
func (p *play) plan(id string) state.Plan {
	p.t.Helper()
	a := p.agent(id)
	return a.Plan(p.state(a.State), statetest.FullCLI)
}

// start starts an invocation of an agent and returns it. A conversation that is resumed has a transcript of
// 100 bytes, unless it is cut.
func (p *play) start(id string) state.Invocation {
	p.t.Helper()
	p.do(func(s *state.Step) {
		a, _ := s.Agent(id)
		l := state.Launch{State: p.state(a.State), Plan: a.Plan(p.state(a.State), statetest.FullCLI), Cwd: statetest.Abs("/d")}
		switch l.Plan.Mode {
		case state.Resume:
			l.SessionID, l.Length = l.Plan.Session.ID, l.Plan.Cut
			if l.Length == nil {
				l.Length = new(int64(100))
			}
		case state.Fresh, state.Branch:
			p.ids++
			l.SessionID = fmt.Sprintf("s%d", p.ids)
		}
		s.Start(id, l)
	})
	return *p.agent(id).Exec.Running
}

// end ends the agent's invocation with the given outcome.
func (p *play) end(id string, o state.Outcome) {
	p.t.Helper()
	p.do(func(s *state.Step) {
		a, _ := s.Agent(id)
		s.End(id, p.state(a.State), o)
	})
}

// invoke starts an invocation of an agent, ends it with the given outcome, and returns it.
func (p *play) invoke(id string, o state.Outcome) state.Invocation {
	p.t.Helper()
	started := p.start(id)
	p.end(id, o)
	return started
}

// turn starts an invocation of an agent and ends it with a move. The invocation costs a cent.
func (p *play) turn(id string, move protocol.Move, spawns ...protocol.Spawn) state.Invocation {
	p.t.Helper()
	return p.invoke(id, state.Outcome{Cost: cost(state.Dollar / 100), Decision: protocol.Decision{Spawns: spawns, Then: move}})
}

// moveOutcome returns the outcome of an invocation that costs usd and ends with a move.
func moveOutcome(usd state.USD, move protocol.Move) state.Outcome {
	return state.Outcome{Cost: cost(usd), Decision: protocol.Decision{Then: move}}
}

// cost returns an exact cost.
func cost(usd state.USD) state.Cost { return state.Cost{Kind: state.Exact, USD: usd} }

// fail returns the outcome of an invocation that failed and cost nothing.
func fail(class state.Class, text string) state.Outcome {
	return state.Outcome{Cost: cost(0), Failure: &state.Failure{Class: class, Message: text}}
}

func goTo(to string) protocol.Move { return protocol.Move{Verb: protocol.Goto, To: to} }

func reset(to string) protocol.Move { return protocol.Move{Verb: protocol.Reset, To: to} }

func call(to, back string) protocol.Move {
	return protocol.Move{Verb: protocol.Call, To: to, Return: back}
}

func result(text string) protocol.Move { return protocol.Move{Verb: protocol.Result, Text: text} }

// next returns the name of the agent that may start next, or "" if no agent may. busy is the number of agents
// that are running.
func (p *play) next(busy int) string {
	a, ok := p.run.Step(p.now).Schedule().Next(busy)
	if !ok {
		return ""
	}
	return a.ID
}

// equal reports an error if got and want differ.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	assert.Check(t, is.DeepEqual(got, want), what)
}
