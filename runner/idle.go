package runner

import (
	"reflect"

	"github.com/raymond-action/raymond-action/state"
)

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
