package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// Actor simulates the agents of a run: it answers their prompts with the replies of a replies file.
// It also wraps the run's scripts and commands, so that all invocations end in a fixed order.
//
// An Actor is also the run's store. It saves nothing, since a simulation is never resumed. It is a
// store because a store learns which invocations start, and in which order.
type Actor struct {
	replies         *Replies
	clock           *Clock
	scripts         runner.Backend
	runner.Verifier // for replies without exit codes, after which the commands are run

	mu          sync.Mutex // guards the following fields
	lastStarted int        // number of the newest started invocation
	agents      map[string]*agentState
	usedReplies map[string]int // number of replies used, by key in the replies file
	missing     []string
}

// agentState describes the current invocation of an agent.
type agentState struct {
	number int // number of the invocation
	reply  *Reply
	// polls counts how often the agent has run each script since its last prompt. An agent that repeats
	// a script without a prompt in between is waiting for something, so simulated time must pass.
	// Otherwise, the run would never end.
	polls map[string]int
}

var (
	_ runner.Store    = (*Actor)(nil)
	_ runner.AgentCLI = (*scriptedCLI)(nil)
	_ runner.Verifier = (*Actor)(nil)
)

// NewActor returns an Actor that uses each reply in r once. It runs scripts with scripts, and
// commands with checks.
func NewActor(r *Replies, clock *Clock, scripts runner.Backend, checks runner.Verifier) *Actor {
	return &Actor{
		replies: r, clock: clock, scripts: scripts, Verifier: checks,
		agents: map[string]*agentState{}, usedReplies: map[string]int{},
	}
}

// Scripts returns the backend with which the run must run its scripts.
func (a *Actor) Scripts() runner.Backend { return (*scripts)(a) }

// Append implements runner.Store.
func (a *Actor) Append(d *state.Delta) error {
	a.assignReplies(d.Agents)
	return nil
}

// WriteSnapshot implements runner.Store.
func (a *Actor) WriteSnapshot(r *state.Run, _ *state.Delta) error {
	a.assignReplies(r.Agents)
	return nil
}

// Full implements runner.Store.
func (a *Actor) Full() bool { return false }

// assignReplies assigns the next unused reply to each new invocation of the given agents, in the order in
// which the invocations are numbered. Missing will list the invocations for which no reply is left.
func (a *Actor) assignReplies(agents []*state.Agent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.lastStarted
	agents = slices.DeleteFunc(slices.Clone(agents), func(g *state.Agent) bool {
		return g.Exec == nil || g.Exec.Running == nil || g.Exec.Running.N <= before
	})
	slices.SortFunc(agents, func(g, h *state.Agent) int { return cmp.Compare(g.Exec.Running.N, h.Exec.Running.N) })
	for _, g := range agents {
		a.lastStarted = g.Exec.Running.N
		s := a.agents[g.ID]
		if s == nil {
			s = &agentState{polls: map[string]int{}}
			a.agents[g.ID] = s
		}
		s.number = a.lastStarted
		if g.Exec.Running.Mode == "" {
			continue
		}
		s.reply = nil
		for _, key := range []string{g.ID + "/" + g.State, g.State} {
			if list, n := a.replies.States[key], a.usedReplies[key]; n < len(list) {
				a.usedReplies[key]++
				s.reply = &list[n]
				break
			}
		}
		if s.reply == nil {
			a.missing = append(a.missing, fmt.Sprintf("for %s of %s", g.State, g.ID))
		}
	}
}

// agentState returns the current invocation of an agent.
func (a *Actor) agentState(agent string) *agentState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.agents[agent]
}

// Missing returns the invocations without a reply, in order. It must not be called before the run
// has ended.
func (a *Actor) Missing() []string { return a.missing }

// Unused returns how many replies were not used, ordered by key. It must not be called before the
// run has ended.
func (a *Actor) Unused() []string {
	var left []string
	for _, key := range slices.Sorted(maps.Keys(a.replies.States)) {
		if n := len(a.replies.States[key]) - a.usedReplies[key]; n > 0 {
			left = append(left, fmt.Sprintf("%d of %d for %s", n, len(a.replies.States[key]), key))
		}
	}
	return left
}

// Ready implements runner.Verifier. It returns no error even if commands can't be run here, since
// the exit codes in replies may replace them.
func (a *Actor) Ready() error { return nil }

// Verify implements runner.Verifier. It returns the exit codes in the reply. If the reply contains
// no exit codes, it runs the commands.
func (a *Actor) Verify(ctx context.Context, c runner.Order, tell func(runner.Progress)) state.Verification {
	s := a.agentState(c.Agent)
	var v state.Verification
	if s.reply == nil || s.reply.Checks == nil {
		v = a.Verifier.Verify(ctx, c, tell)
	} else {
		for i, cmd := range c.Commands {
			code := s.reply.Checks[min(i, len(s.reply.Checks)-1)]
			v.Results = append(v.Results, state.CommandResult{Cmd: cmd, RC: code})
		}
	}
	a.clock.Wait(ctx, s.number, 0)
	return v
}

// outcome returns the result of an invocation, and how long the invocation takes on the simulated
// clock. A nil reply, or a blank prompt, results in a failure.
func (r *Reply) outcome(o runner.Order) (runner.Answer, *runner.Failure, time.Duration) {
	failure := &runner.Failure{Class: runner.Fatal}
	switch {
	case strings.TrimSpace(o.Prompt.Text) == "":
		failure.Message = "the prompt is empty: agent CLIs accept no prompt that contains only spaces and line breaks; add text to the state, or check the values that it inserts"
		return runner.Answer{}, failure, 0
	case r == nil:
		failure.Message = fmt.Sprintf("the replies file has no reply left for state %s of agent %s", o.State, o.Agent)
		return runner.Answer{}, failure, 0
	}
	answer := runner.Answer{
		Text: string(r.Text), SessionID: o.Prompt.SessionID, Model: "scripted", Turns: 1,
		Cost: state.Cost{Kind: state.Exact, USD: state.USD(r.Cost)},
	}
	for _, d := range r.Denied {
		answer.Refusals = append(answer.Refusals, runner.Refusal{Use: string(d)})
	}
	switch took := r.Delay; {
	case o.Timeout > 0 && took > o.Timeout:
		failure.Class, failure.Message = runner.TimedOut, fmt.Sprintf("no answer after %s", o.Timeout)
		return answer, failure, o.Timeout
	case r.Error != nil:
		failure.Class, failure.Message = runner.Class(r.Error.Class), string(r.Error.Message)
		return answer, failure, took
	default:
		return answer, nil, took
	}
}

// Agents returns a scripted agent CLI for each backend name. All of them use the same replies.
func (a *Actor) Agents() map[string]runner.AgentCLI {
	all := map[string]runner.AgentCLI{}
	for _, name := range protocol.Backends() {
		all[name] = &scriptedCLI{actor: a, name: name}
	}
	return all
}

// scriptedCLI is an agent CLI that gets its answers from an Actor. The embedded Transcripts is nil,
// because a simulated run has no transcripts and calls only the methods that are defined here.
type scriptedCLI struct {
	runner.Transcripts

	actor *Actor
	name  string
}

// Run implements runner.Backend. It simulates an invocation of an agent: it waits until the simulated
// clock has passed the reply's delay, and returns the reply.
func (p *scriptedCLI) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	s := p.actor.agentState(o.Agent)
	proc.RecordPrompt(o.DebugDir, o.Prompt.Text)
	answer, failure, took := s.reply.outcome(o)
	p.actor.clock.Wait(ctx, s.number, took)
	clear(s.polls) // a prompt may change anything that scripts wait for
	switch {
	case ctx.Err() != nil:
		return runner.Answer{}, &runner.Failure{Class: runner.Stopped, Message: context.Cause(ctx).Error()}
	case failure != nil:
		return answer, failure
	case o.Verbosity != runner.VerbosityNone && answer.Text != "":
		tell(runner.Progress{Text: answer.Text})
	}
	return answer, nil
}

// Abilities implements runner.AgentCLI. The scripted CLI claims to have every ability, so that the
// result of a simulation doesn't depend on the limitations of a CLI.
func (p *scriptedCLI) Abilities() runner.Abilities {
	return runner.Abilities{Backend: p.name, Title: p.name, ChoosesID: true, ReportsUSD: true}
}

// Needs implements runner.AgentCLI.
func (p *scriptedCLI) Needs() runner.Needs { return runner.Needs{} }

// Length implements runner.Transcripts.
func (p *scriptedCLI) Length(runner.Conversation) (int64, bool) { return 0, false }

// Usage implements runner.Transcripts.
func (p *scriptedCLI) Usage(runner.Conversation, int64) ([]state.Usage, bool) { return nil, false }

// scripts is a backend that runs scripts for real. They end in a fixed order, controlled by the
// clock.
type scripts Actor

// Run implements runner.Backend.
func (b *scripts) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	s := (*Actor)(b).agentState(o.Agent)
	answer, err := b.scripts.Run(ctx, o, tell)
	// The simulated duration is 0 for the first run since a prompt, then one second, two seconds, four
	// seconds and so on, up to maxPoll.
	took := time.Duration(0)
	if n := s.polls[o.State]; n > 0 {
		took = min(time.Second<<min(n-1, 20), maxPoll)
	}
	s.polls[o.State]++
	b.clock.Wait(ctx, s.number, took)
	return answer, err
}

// maxPoll is the maximum simulated duration of a script.
const maxPoll = time.Hour
