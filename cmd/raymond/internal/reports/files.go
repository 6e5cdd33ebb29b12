package reports

import (
	"context"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/runner/insight"
)

// most bounds the diffs that are read.
var most = workspace.Most{File: 64 << 10, Execution: 256 << 10, All: 4 << 20}

// changes are the files that state executions changed, by their numbers.
type changes map[int]workspace.Changes

// filesOf returns the changed files of a run, nil when there are no snapshots. shots may be nil.
func filesOf(shots *workspace.Snapshots) (insight.Snapshots, error) {
	if shots == nil {
		return nil, nil
	}
	all, err := shots.Changes(context.Background(), most)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return changes(all), nil
}

// Files implements insight.Snapshots.
func (c changes) Files(exec int) (changed []insight.File, isShared bool) {
	one, ok := c[exec]
	if !ok {
		return nil, false
	}
	changed = make([]insight.File, 0, len(one.Files))
	for _, f := range one.Files {
		changed = append(changed, insight.File{Path: f.Path, Change: f.What, Diff: f.Diff, Cut: f.IsCut})
	}
	return changed, one.IsShared
}
