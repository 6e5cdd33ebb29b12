package invarianttest

import (
	"slices"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// chainOf returns a name for the sequence to which a checkpoint belongs. There is one sequence for each
// run, and one for each part of a run.
func chainOf(m checkpoint.Manifest) string {
	if part := m.PartName(); part != "" {
		return m.WorkflowID + "~" + part
	}
	return m.WorkflowID
}

// checkpoints checks the stored checkpoints in order, and the content of the store after each change. The final
// run must not be older than any of its stored checkpoints.
func (f *findings) checkpoints(ev Evidence) {
	newest := map[string]StoredCheckpoint{}
	for _, s := range ev.Checkpoints {
		m := s.Manifest
		before, ok := newest[chainOf(m)]
		if ok {
			f.follows(before, s)
		}
		if !ok || m.Generation >= before.Manifest.Generation {
			newest[chainOf(m)] = s
		}
	}
	for i, listing := range ev.StoreListings {
		f.listing(i, ev.Checkpoints, listing)
	}
	for _, s := range ev.Checkpoints {
		if ev.Run != nil && chainOf(s.Manifest) == ev.Run.WorkflowID && s.Manifest.Seq > ev.Run.Progress.Seq {
			f.add("P-7", "the state has step %d, but generation %d has step %d", ev.Run.Progress.Seq, s.Manifest.Generation, s.Manifest.Seq)
		}
	}
}

// follows checks that s may be the next checkpoint after before. If the main phase of a step was killed
// while it stored a generation, the post phase may store the same generation again.
func (f *findings) follows(before, s StoredCheckpoint) {
	m, b := s.Manifest, before.Manifest
	again := m.Generation == b.Generation && m.Previous == b.Previous && m.RunID == b.RunID
	switch {
	case !again && m.Generation != b.Generation+1:
		f.add("P-6", "generation %d of %s follows generation %d", m.Generation, m.WorkflowID, b.Generation)
	case !again && m.Previous != "" && before.Digest != "" && m.Previous != before.Digest:
		f.add("P-6", "generation %d of %s names %s as its predecessor, want %s", m.Generation, m.WorkflowID, m.Previous, before.Digest)
	}
	if m.Seq < b.Seq {
		f.add("P-6", "generation %d of %s has step %d, but its predecessor has step %d", m.Generation, m.WorkflowID, m.Seq, b.Seq)
	}
	if m.TotalUSD < b.TotalUSD {
		f.add("P-5", "generation %d of %s has cost $%s, but its predecessor $%s", m.Generation, m.WorkflowID, m.TotalUSD, b.TotalUSD)
	}
}

// listing checks that a store contained the newest checkpoint of each run after a change. It ignores runs
// that were replaced by a later run. i is the index of the listing.
func (f *findings) listing(i int, all []StoredCheckpoint, listing StoreListing) {
	newest := map[string]int{}
	for _, s := range all[:listing.Stored] {
		newest[chainOf(s.Manifest)] = max(newest[chainOf(s.Manifest)], s.Manifest.Generation)
	}
	for id, generation := range newest {
		there := slices.ContainsFunc(listing.Present, func(j int) bool {
			return chainOf(all[j].Manifest) == id && all[j].Manifest.Generation >= generation
		})
		if !there && !replaced(all[:listing.Stored], id, listing.Present) {
			f.add("P-7", "after change %d of the store, generation %d of %s is missing, and so is any newer one", i+1, generation, id)
		}
	}
}

// replaced reports whether a run was replaced by a later run with the same key. id is the name that
// chainOf returned for the run. The slice there contains the indexes of the checkpoints that still exist.
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
