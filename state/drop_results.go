package state

import "slices"

// A run keeps the results of the maxEndings agents that ended last, and only counts older ones. Old
// results are dropped in groups of more than dropSlack, so that most steps drop nothing.
const (
	maxEndings = 1000
	dropSlack  = 250
)

// dropOldEndings removes old results from Ended and counts them in Forgotten. Its effect depends only on
// the run, so replaying a journal has the same effect.
func (r *Run) dropOldEndings() {
	// The results of a part are needed when the part is merged.
	_, isPart := r.Parts.OwnPart()
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

// mayDrop reports whether a result can be dropped. The result of the main agent can't be dropped, because
// it is the result of the run. Nor can a result that a join may still deliver.
func (r *Run) mayDrop(e Ending) bool {
	return e.Agent != mainAgent && (!r.Progress.HasJoin || e.Delivered || e.Parent == "")
}
