package insight

import (
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// The limits of what is shown of changed files.
const (
	mostFilesOf = 200       // of an execution
	mostDiffsOf = 256 << 10 // of an execution, in bytes where they are shown
)

// gatherFiles adds the files that executions changed, whose diffs may take pot bytes, and
// returns what they take.
func gatherFiles(r *Report, s Source, pot int) int {
	used, without, names := 0, 0, 0
	for _, x := range byInterest(r.Executions) {
		changed, ok := s.Files[x.N]
		if !ok {
			continue
		}
		list := changed.Files
		x.IsShared = changed.IsShared
		if used >= pot {
			names++
			continue
		}
		x.Files = boundFiles(list, s.Hide, min(mostDiffsOf, pot-used))
		isCut := len(x.Files) < len(list)
		for _, f := range x.Files {
			isCut = isCut || f.Cut
			used += cost(f.Path) + cost(f.Diff) + 100
		}
		if isCut {
			without++
		}
	}
	if without > 0 {
		r.leaveOut("Of %s some changed files, or a part of their diffs, are left out.", state.Count(without, "state execution"))
	}
	if names > 0 {
		r.leaveOut("The changed files of %s are left out: all would be too much for one page.", state.Count(names, "state execution"))
	}
	return used
}

// boundFiles masks the diffs, and leaves out those for which there is no room.
func boundFiles(list []report.File, hide func(string) string, room int) []report.File {
	out := make([]report.File, 0, min(len(list), mostFilesOf))
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
