package invarianttest

import (
	"slices"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// chainOf names the run of a checkpoint, or the part of it that is stored on its own.
func chainOf(m checkpoint.Manifest) string {
	if part := m.PartName(); part != "" {
		return m.WorkflowID + "~" + part
	}
	return m.WorkflowID
}

// checkpoints checks what was stored, in order, and what was there after each change.
func (f *findings) checkpoints(l Evidence) {
	newest := map[string]StoredCheckpoint{}
	for _, s := range l.Checkpoints {
		m := s.Manifest
		before, ok := newest[chainOf(m)]
		if ok {
			f.follows(before, s)
		}
		if !ok || m.Generation >= before.Manifest.Generation {
			newest[chainOf(m)] = s
		}
	}
	for i, shelf := range l.StoreListings {
		f.shelf(i, l.Checkpoints, shelf)
	}
	f.carriesOn(l)
}

// follows checks that a checkpoint is the one after another of its run. The post part
// of a step may store a generation again that its main part was storing when it was
// killed.
func (f *findings) follows(before, s StoredCheckpoint) {
	m, b := s.Manifest, before.Manifest
	again := m.Generation == b.Generation && m.Previous == b.Previous && m.RunID == b.RunID
	switch {
	case !again && m.Generation != b.Generation+1:
		f.add("P-6", "generation %d of %s follows generation %d", m.Generation, m.WorkflowID, b.Generation)
	case !again && m.Previous != "" && before.Digest != "" && m.Previous != before.Digest:
		f.add("P-6", "generation %d of %s names %s as the one before it, which is %s", m.Generation, m.WorkflowID, m.Previous, before.Digest)
	}
	if m.Seq < b.Seq {
		f.add("P-6", "generation %d of %s has step %d, and the one before it step %d", m.Generation, m.WorkflowID, m.Seq, b.Seq)
	}
	if m.TotalUSD < b.TotalUSD {
		f.add("P-5", "generation %d of %s has cost $%s, and the one before it $%s", m.Generation, m.WorkflowID, m.TotalUSD, b.TotalUSD)
	}
}

// shelf checks that the newest checkpoint of each run that was stored by a moment was
// there then.
func (f *findings) shelf(i int, all []StoredCheckpoint, shelf StoreListing) {
	newest := map[string]int{}
	for _, s := range all[:shelf.Stored] {
		newest[chainOf(s.Manifest)] = max(newest[chainOf(s.Manifest)], s.Manifest.Generation)
	}
	for id, generation := range newest {
		there := slices.ContainsFunc(shelf.Present, func(j int) bool {
			return chainOf(all[j].Manifest) == id && all[j].Manifest.Generation >= generation
		})
		if !there && !replaced(all[:shelf.Stored], id, shelf.Present) {
			f.add("P-7", "after change %d of the store generation %d of %s is gone, and no newer one is there", i+1, generation, id)
		}
	}
}

// replaced reports whether a run has given way to a later one of its key.
func replaced(all []StoredCheckpoint, id string, there []int) bool {
	last := 0
	for i, s := range all {
		if chainOf(s.Manifest) == id {
			last = i
		}
	}
	return slices.ContainsFunc(there, func(j int) bool {
		return j > last && all[j].Manifest.WorkflowID != all[last].Manifest.WorkflowID && all[j].Manifest.Key == all[last].Manifest.Key
	})
}

// carriesOn checks that the run in the end is not older than what was stored of it.
func (f *findings) carriesOn(l Evidence) {
	for _, s := range l.Checkpoints {
		if l.Run != nil && chainOf(s.Manifest) == l.Run.WorkflowID && s.Manifest.Seq > l.Run.Progress.Seq {
			f.add("P-7", "the state is of step %d, and generation %d has step %d", l.Run.Progress.Seq, s.Manifest.Generation, s.Manifest.Seq)
		}
	}
}
