package runs

import (
	"context"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
)

// most bounds the diffs that are read.
var most = workspace.Most{File: 64 << 10, Execution: 256 << 10, All: 4 << 20}

// filesOf returns the changed files of a run, nil when there are no snapshots. shots may be nil.
func filesOf(shots *workspace.Snapshots) (map[int]insight.Changed, error) {
	if shots == nil {
		return nil, nil
	}
	changes, err := shots.Changes(context.Background(), most)
	all := map[int]insight.Changed{}
	for exec, one := range changes {
		files := make([]report.File, len(one.Files))
		for i, f := range one.Files {
			files[i] = report.File{Path: f.Path, Change: f.What, Diff: f.Diff, Cut: f.IsCut}
		}
		all[exec] = insight.Changed{Files: files, IsShared: one.IsShared}
	}
	return all, err
}
