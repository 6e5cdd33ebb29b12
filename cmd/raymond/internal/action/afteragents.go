package action

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/internal/cage"
)

// markOfAgents returns the path of the taint file. It lies beside the directories of the job's
// steps, where agents can't see it, and lists the directories that agents could write to.
func (d folders) markOfAgents() string { return filepath.Join(d.all, agentsFile) }

// afterAgents returns the directories that agents of this job could write to, or nil if no agent
// has run. If the taint file can't be read, it returns the root directory.
func afterAgents(dirs folders) []string {
	var folders []string
	if err := checkpoints.ReadNote(dirs.markOfAgents(), &folders); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return []string{string(filepath.Separator)}
	}
	return folders
}

// isOfAgents reports whether agents of this job could have written any of the given files. Paths
// are relative to the workspace or to the working directory.
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

// taint records that agents start in this job, or that files from agents are restored, and which
// directories besides the workspace they can write to. It does so with and without a cage.
func taint(dirs folders, writable []string) error {
	known := afterAgents(dirs)
	all := slices.Concat(known, []string{dirs.top, dirs.work}, writable)
	slices.Sort(all)
	if all = slices.Compact(all); slices.Equal(all, known) {
		return nil
	}
	return checkpoints.WriteNote(dirs.markOfAgents(), all)
}
