package runner

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// Checkpoints stores checkpoints of a run while the run is driven, so that a later job can find
// and continue it. Only the owner calls the methods, one at a time.
type Checkpoints interface {
	// Offer is called after each step that did not end the run, when the step's invocations have
	// started. It must return soon, and must not keep a reference to the run. If it returns false,
	// it is called again with the same step about every second, until there is another step.
	Offer(run *state.Run, now time.Time) (taken bool)
	// Stored returns a channel that delivers an event for each checkpoint that was stored or could
	// not be stored. The owner reports these events outside of steps.
	Stored() <-chan *state.Checkpoint
	// CheckResumable is called before a run is suspended, when no invocation is running. left are
	// the remaining agents. If it returns an error, no later job could resume the run, and the run
	// fails instead.
	CheckResumable(left []*state.Agent) error
}

// offer offers the last step to Checkpoints, unless Checkpoints has accepted it already.
func (r *Runner) offer() {
	if r.offerPending && r.run.Progress.Status == state.Running {
		r.offerPending = !r.cfg.Checkpoints.Offer(r.run, r.now())
	}
}

// closing returns how the run ends when no agent is left to start. A run that would be suspended
// but could not be resumed fails instead.
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
