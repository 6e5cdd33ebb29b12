package state

import "slices"

// A state file keeps the results of the agents that ended last. Older ones are only counted. That waits
// until there are some more, so that it costs next to nothing per step.
const (
	keptEndings = 1000
	foldSlack   = 250
)

// fold drops the results that are too old to be kept. It depends on nothing but the
// run, so that replaying a journal leads to the same run.
func (r *Run) fold() {
	_, isPart := r.Parts.OwnPart() // what is a part's own is told one by one when it is joined
	if isPart || len(r.Ended) <= keptEndings+foldSlack {
		return
	}
	old := -keptEndings
	for _, e := range r.Ended {
		if r.mayDrop(e) {
			old++
		}
	}
	if old <= foldSlack {
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

// mayDrop reports whether a result need not be kept: it is not that of the main agent, which is the
// result of the run, and no join may deliver it.
func (r *Run) mayDrop(e Ending) bool {
	return e.Agent != mainAgent && (!r.Progress.HasJoin || e.Delivered || e.Parent == "")
}
