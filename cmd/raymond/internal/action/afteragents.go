package action

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// markOfAgents is the note that agents have run in this job, beside the folders of its steps, where they can't
// see it. It has the folders that they could write.
func (d folders) markOfAgents() string { return filepath.Join(d.all, agentsFile) }

// afterAgents returns where agents of this job could write; nil as long as none has run. A note that can't be
// read is one of everything.
func afterAgents(dirs folders) []string {
	var folders []string
	if err := checkpoints.ReadNote(dirs.markOfAgents(), &folders); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return []string{string(filepath.Separator)}
	}
	return folders
}

// isOfAgents reports whether agents of this job could write one of some files, which are named relative to the
// workspace.
func isOfAgents(dirs folders, paths ...string) bool {
	folders := afterAgents(dirs)
	return slices.ContainsFunc(paths, func(path string) bool {
		at := cage.Resolve(within(dirs.top, path))
		return path != "" && at != "" && slices.ContainsFunc(folders, func(dir string) bool { return cage.IsWithin(at, cage.Resolve(dir)) })
	})
}

// markAgents notes that agents have run. Where the cage is off nothing is held that later steps could rely on.
func markAgents(dirs folders, c options.Cage) error {
	if c.IsOff() {
		return nil
	}
	all := slices.Concat(afterAgents(dirs), []string{dirs.top, dirs.work}, c.Writable)
	return checkpoints.WriteNote(dirs.markOfAgents(), slices.Compact(slices.Sorted(slices.Values(all))))
}

// marking is a backend before whose first invocation it is noted that agents have run.
type marking struct {
	runner.Backend
	mark func() error
}

// Run implements runner.Backend.
func (m marking) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	if err := m.mark(); err != nil {
		return runner.Answer{Process: state.Process{ExitCode: -1}, Cost: state.Cost{Silent: true}}, &runner.Failure{Class: state.Fatal, Message: "RUNNER_TEMP: " + err.Error()}
	}
	return m.Backend.Run(ctx, o, tell)
}
