package state

import "slices"

// A state file keeps the results of the agents that ended last and only counts older ones. Old
// results are dropped in groups of more than dropSlack, so that this costs little per step.
const (
	maxEndings = 1000
	dropSlack  = 250
)

// dropOldEndings removes old results from Ended and counts them in Forgotten. It depends only on
// the run, so that replaying a journal leads to the same run.
func (r *Run) dropOldEndings() {
	_, isPart := r.Parts.OwnPart() // the results of a part are needed when it is joined
	if isPart || len(r.Ended) <= maxEndings+dropSlack {
		return
	}
	old := -maxEndings
	for _, e := range r.Ended {
		if r.mayDrop(e) {
			old++
		}
	}
	if old <= dropSlack {
		return
	}
	r.Forgotten += old
	r.Ended = slices.DeleteFunc(slices.Clone(r.Ended), func(e Ending) bool {
		drops := old > 0 && r.mayDrop(e)
		if drops {
			old--
		}
		return drops
	})
}

// mayDrop reports whether a result can be dropped. The result of the main agent is the result
// of the run, and a result that a join may still deliver is also kept.
func (r *Run) mayDrop(e Ending) bool {
	return e.Agent != mainAgent && (!r.Progress.HasJoin || e.Delivered || e.Parent == "")
}
