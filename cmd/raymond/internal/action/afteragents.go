package action

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/internal/cage"
)

// markOfAgents is the note that agents have run in this job, beside the folders of its steps, where they can't
// see it. It has the folders that they could write.
func (d folders) markOfAgents() string { return filepath.Join(d.all, agentsFile) }

// afterAgents returns the folders that agents of this job could write, nil if none has run. If the note of them can't be read,
// it returns the root.
func afterAgents(dirs folders) []string {
	var folders []string
	if err := checkpoints.ReadNote(dirs.markOfAgents(), &folders); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return []string{string(filepath.Separator)}
	}
	return folders
}

// isOfAgents reports whether agents of this job could have written one of some files, whose paths are relative to the
// workspace or to the working directory.
func isOfAgents(dirs folders, paths ...string) bool {
	folders := cage.ResolveAll(afterAgents(dirs))
	return slices.ContainsFunc(paths, func(path string) bool {
		at := cage.ResolveAll([]string{within(dirs.top, path), within(dirs.work, path)})
		isTheirs := func(at string) bool {
			return slices.ContainsFunc(folders, func(dir string) bool { return cage.IsWithin(at, dir) })
		}
		return path != "" && slices.ContainsFunc(at, isTheirs)
	})
}

// taint records that agents begin in this job, or what they wrote, and where they can write besides the workspace. It is
// recorded whatever the cage is.
func taint(dirs folders, writable []string) error {
	known := afterAgents(dirs)
	all := slices.Concat(known, []string{dirs.top, dirs.work}, writable)
	slices.Sort(all)
	if all = slices.Compact(all); slices.Equal(all, known) {
		return nil
	}
	return checkpoints.WriteNote(dirs.markOfAgents(), all)
}
