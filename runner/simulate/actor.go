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

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// Actor plays the agents of a run, and stands between the run and its scripts and
// commands, so that everything in it ends in one order. As the run's store it
// keeps nothing, since a simulation is never resumed, but sees what is started,
// and in which order.
type Actor struct {
	replies         *Replies
	clock           *Clock
	scripts         runner.Backend
	runner.Verifier // for replies that leave the verdict to the commands

	mu      sync.Mutex // guards what follows
	started int        // number of the last invocation that was started
	scenes  map[string]*scene
	taken   map[string]int // replies, by key of the file
	missing []string
}

// scene is what one agent is in the middle of.
type scene struct {
	number int // of the invocation
	reply  *Reply
	polls  polls
}

var (
	_ runner.Store    = (*Actor)(nil)
	_ runner.AgentCLI = (*player)(nil)
	_ runner.Verifier = (*Actor)(nil)
)

// NewActor returns an Actor that gives the replies, each once.
func NewActor(r *Replies, clock *Clock, scripts runner.Backend, checks runner.Verifier) *Actor {
	return &Actor{
		replies: r, clock: clock, scripts: scripts, Verifier: checks,
		scenes: map[string]*scene{}, taken: map[string]int{},
	}
}

// Scripts returns what runs the scripts of the run.
func (a *Actor) Scripts() runner.Backend { return (*scripts)(a) }

// Append implements runner.Store.
func (a *Actor) Append(d *state.Delta) error {
	a.start(d.Agents)
	return nil
}

// WriteSnapshot implements runner.Store.
func (a *Actor) WriteSnapshot(r *state.Run, _ *state.Delta) error {
	a.start(r.Agents)
	return nil
}

// Full implements runner.Store.
func (a *Actor) Full() bool { return false }

// start hands out the replies for the invocations that are new among those of
// the agents, in the order of their numbers.
func (a *Actor) start(agents []*state.Agent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.started
	agents = slices.DeleteFunc(slices.Clone(agents), func(g *state.Agent) bool {
		return g.Exec == nil || g.Exec.Running == nil || g.Exec.Running.N <= before
	})
	slices.SortFunc(agents, func(g, h *state.Agent) int { return cmp.Compare(g.Exec.Running.N, h.Exec.Running.N) })
	for _, g := range agents {
		a.started = g.Exec.Running.N
		s := a.scenes[g.ID]
		if s == nil {
			s = &scene{polls: polls{}}
			a.scenes[g.ID] = s
		}
		s.number = a.started
		if g.Exec.Running.Mode != "" {
			s.reply = a.next(g.ID, g.State)
		}
	}
}

// next takes the next reply for a state of an agent; nil when there is none.
func (a *Actor) next(agent, st string) *Reply {
	for _, key := range []string{agent + "/" + st, st} {
		if list, n := a.replies.States[key], a.taken[key]; n < len(list) {
			a.taken[key]++
			return &list[n]
		}
	}
	a.missing = append(a.missing, fmt.Sprintf("for %s of %s", st, agent))
	return nil
}

// scene returns what an agent is in the middle of, for its worker to read.
func (a *Actor) scene(agent string) *scene {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.scenes[agent]
}

// Missing says for which invocations there was no reply, in order.
func (a *Actor) Missing() []string { return a.missing }

// Unused says which replies are left, by their keys in order. To be called when
// the run has ended, as Missing.
func (a *Actor) Unused() []string {
	var left []string
	for _, key := range slices.Sorted(maps.Keys(a.replies.States)) {
		if n := len(a.replies.States[key]) - a.taken[key]; n > 0 {
			left = append(left, fmt.Sprintf("%d of %d for %s", n, len(a.replies.States[key]), key))
		}
	}
	return left
}

// Ready implements runner.Verifier: replies may need no commands.
func (a *Actor) Ready() error { return nil }

// Verify implements runner.Verifier: with the exit codes of the reply, or by
// running the commands.
func (a *Actor) Verify(ctx context.Context, c runner.Order, tell func(runner.Progress)) state.Verification {
	s := a.scene(c.Agent)
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

// perform plays an invocation of an agent.
func (a *Actor) perform(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	s := a.scene(o.Agent)
	proc.RecordPrompt(o.DebugDir, o.Prompt.Text)
	answer, failure, took := s.reply.play(o)
	a.clock.Wait(ctx, s.number, took)
	clear(s.polls) // a prompt can change anything
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

// play returns what an invocation brings, and how long it takes.
func (r *Reply) play(o runner.Order) (runner.Answer, *runner.Failure, time.Duration) {
	failure := &runner.Failure{Class: runner.Fatal}
	switch {
	case strings.TrimSpace(o.Prompt.Text) == "":
		failure.Message = "prompt is empty: the agent CLI takes none that is blank"
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
