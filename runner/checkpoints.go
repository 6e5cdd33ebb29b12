package runner

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// Checkpoints stores the run, while it is driven, where a later job can find it.
// Only the owner calls the methods, one at a time.
type Checkpoints interface {
	// Offer is called after each step that did not end the run, once what the step
	// starts is under way. It must return soon, and must not keep the run. When it
	// returns false, it is called again with the same step about every second,
	// until there is another one.
	Offer(run *state.Run, now time.Time) (taken bool)
	// Stored brings an event for each checkpoint that was stored or could not be.
	// The owner reports it, as part of no step.
	Stored() <-chan *state.Checkpoint
	// CheckResumable is called before a run is suspended, when nothing of it is
	// under way, with the agents that are left. An error says why no later job
	// could resume the run, which then fails instead.
	CheckResumable(left []*state.Agent) error
}

// offer offers the last step until it is taken.
func (r *Runner) offer() {
	if r.due && r.run.Progress.Status == state.Running {
		r.due = !r.cfg.Checkpoints.Offer(r.run, r.now())
	}
}

// closing is how the run ends when nothing is left to start. A run that is to be
// suspended, and could not be resumed, fails.
func (r *Runner) closing(step *state.Step) state.Closing {
	c := step.Closing(r.stop)
	if c.Status != state.Suspended || r.cfg.Checkpoints == nil {
		return c
	}
	if err := r.cfg.Checkpoints.CheckResumable(slices.Collect(step.Agents())); err != nil {
		return c.AsFailed(err)
	}
	return c
}
