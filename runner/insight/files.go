package insight

import "github.com/raymond-action/raymond-action/state"

// The limits of what is shown of changed files.
const (
	mostFilesOf = 200       // of an execution
	mostDiffsOf = 256 << 10 // of an execution, in bytes where they are shown
	mostDiffs   = 200       // executions whose files are compared
)

// gatherFiles adds the files that executions changed, whose diffs may take pot bytes, and
// returns what they take.
func gatherFiles(r *Report, s Source, pot int) int {
	if s.Snapshots == nil {
		return 0
	}
	used, compared, skipped, failed := 0, 0, 0, 0
	for _, x := range byInterest(r.Executions) {
		if x.Kind != promptKind {
			continue
		}
		if compared == mostDiffs || used >= pot {
			skipped++
			continue
		}
		list, isShared, err := s.Snapshots.Files(x.N)
		if err != nil {
			failed++
			continue
		}
		if list == nil {
			continue
		}
		compared++
		x.IsShared = isShared
		x.Files = boundFiles(list, s.Hide, min(mostDiffsOf, pot-used))
		for _, f := range x.Files {
			used += cost(f.Path) + cost(f.Diff) + 100
		}
	}
	if skipped > 0 {
		r.leaveOut("The changed files of %s are left out: they would be too much for one page.", state.Count(skipped, "state execution"))
	}
	if failed > 0 {
		r.leaveOut("The changed files of %s can't be read.", state.Count(failed, "state execution"))
	}
	return used
}

// promptKind is the kind of the executions after which snapshots are taken.
const promptKind = "prompt"

// boundFiles masks the diffs, and leaves out those for which there is no room.
func boundFiles(list []File, hide func(string) string, room int) []File {
	out := make([]File, 0, min(len(list), mostFilesOf))
	for _, f := range list[:min(len(list), mostFilesOf)] {
		f.Path, f.Diff = hide(f.Path), hide(f.Diff)
		if n := cost(f.Diff); n > room {
			f.Diff, f.Cut = "", true
		} else {
			room -= n
		}
		out = append(out, f)
	}
	return out
}
