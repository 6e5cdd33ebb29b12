package insight

import (
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// The limits for the files that one execution has changed.
const (
	maxFilesPerExec = 200       // number of files
	maxDiffsPerExec = 256 << 10 // bytes of all diffs, escaped
)

// addFiles adds the files that executions changed, with diffs up to a total of room bytes. It
// returns the number of bytes used. It notes in the report for how many executions files or diffs
// are missing.
func addFiles(r *Report, s Source, room int) int {
	used, without, names := 0, 0, 0
	for _, x := range byImportance(r.Executions) {
		changed, ok := s.Files[x.N]
		if !ok {
			continue
		}
		list := changed.Files
		x.IsShared = changed.IsShared
		if used >= room {
			names++
			continue
		}
		x.Files = limitFiles(list, s.Hide, min(maxDiffsPerExec, room-used))
		isCut := len(x.Files) < len(list)
		for _, f := range x.Files {
			isCut = isCut || f.Cut
			used += escapedSize(f.Path) + escapedSize(f.Diff) + 100
		}
		if isCut {
			without++
		}
	}
	if without > 0 {
		r.addOmission("Some changed files or diffs of %s are left out.", state.Count(without, "state execution"))
	}
	if names > 0 {
		r.addOmission("The changed files of %s are left out; they would be too large for one page.", state.Count(names, "state execution"))
	}
	return used
}

// limitFiles returns the first maxFilesPerExec files of a list. It masks secrets in them, and removes
// diffs that would exceed room bytes in total.
func limitFiles(list []report.File, hide func(string) string, room int) []report.File {
	out := make([]report.File, 0, min(len(list), maxFilesPerExec))
	for _, f := range list[:min(len(list), maxFilesPerExec)] {
		f.Path, f.Diff = hide(f.Path), hide(f.Diff)
		if n := escapedSize(f.Diff); n > room {
			f.Diff, f.Cut = "", true
		} else {
			room -= n
		}
		out = append(out, f)
	}
	return out
}
