package runner

import (
	"reflect"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// endlessLimitHold is how long an agent waits for the end of a usage limit if Config.Hold is
// negative, so that a long limit doesn't occupy a machine for hours. A longer limit suspends the
// run, which can be resumed later.
const endlessLimitHold = 5 * time.Minute

// newStep returns a step for the agents that run in this process.
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

// holds reports whether the run stays open although nothing runs and nothing can start now. It does
// so for a retry or another pause, for a wait that ends within Config.Hold, and for a question that
// users may answer soon.
func (r *Runner) holds(step *state.Step) bool {
	schedule := step.Schedule()
	due := schedule.DueTime()
	isSoon := !due.IsZero() && (r.cfg.Hold < 0 || due.Sub(r.now()) <= r.cfg.Hold)
	return isSoon || !schedule.WakeTime().IsZero() || schedule.HasOpenQuestion() && r.mayBringUpdate(step)
}

// isOver reports whether a running run can be closed: no worker is busy, and either nothing may
// start (Runner.stop is set), or nothing can start now and nothing holds the run open.
func (r *Runner) isOver() bool {
	step := r.newStep(r.now())
	_, ready := step.Schedule().Next(0)
	return r.busy == 0 && r.run.Progress.Status == state.Running && (r.stop != nil || !ready && !r.holds(step))
}

// IsIdle reports whether Run would suspend a suspended run again immediately: its agents can't
// continue, no question needs to be shown to users, and neither the run nor its options change.
// It must be called before Run.
func (r *Runner) IsIdle(override *state.Options) bool {
	isChanged := override != nil && !reflect.DeepEqual(*override, r.run.Options)
	if isChanged || r.run.Progress.Status != state.Suspended || len(r.run.WaitingAgents()) == 0 {
		return false
	}
	step := r.newStep(r.now())
	step.Resume(nil)
	step.UpdateWaits(r.here)
	_, ready := step.Schedule().Next(0)
	return !ready && !r.holds(step) && len(r.updates) == 0 && !step.Delta().HasOtherEvents()
}
