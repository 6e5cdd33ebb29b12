package runner

import (
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// here says where the run is driven.
func (c *Config) here() state.Here {
	h := state.Here{
		Jobs: c.Jobs, JobOf: c.Workflow.JobOf, Part: c.Part, NewToken: c.NewToken, HasJoin: c.Workflow.HasJoin(),
	}
	if c.Prompter != nil {
		h.HasRead = c.Prompter.HasRead
	}
	return h
}

// endlessLimitHold is for how long an agent waits for the end of a usage limit where the run holds
// without end: not for hours where nobody has said how long that is. A longer one suspends the
// run, which can be resumed when it has ended.
const endlessLimitHold = 5 * time.Minute

// newStep returns a step of the agents that are driven here.
func (r *Runner) newStep(now time.Time) *state.Step {
	step := r.run.Step(now)
	step.Restrict(r.cfg.Part)
	if r.cfg.RunsTrustedAlone {
		step.SetExclusive(func(a *state.Agent) bool {
			st, ok := r.cfg.Workflow.State(a.State)
			return ok && st.Trusted
		})
	}
	return step
}

// holds reports whether a run of which nothing is under way, and nothing can start, stays
// for what may start later.
func (r *Runner) holds(step *state.Step) bool {
	due := step.DueTime()
	isSoon := !due.IsZero() && (r.cfg.Hold < 0 || due.Sub(r.now()) <= r.cfg.Hold)
	return isSoon || !step.WakeTime().IsZero() || step.HasOpenQuestion() && r.mayBring(step)
}

// isOver reports whether the run, which stayed only because People had to be told of a
// question, is to be closed now that they were.
func (r *Runner) isOver() bool {
	step := r.newStep(r.now())
	_, ready := step.Next(0)
	return r.busy == 0 && r.run.Progress.Status == state.Running && (r.stop != nil || !ready && !r.holds(step))
}
