package reports

import (
	"context"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/runner/insight"
)

// The limits of diffs, in bytes.
const (
	mostOfFile = 64 << 10
	mostOfExec = 256 << 10
)

// changes are the files that state executions changed, from the snapshots of a run.
type changes struct {
	shots  *workspace.Snapshots
	shared map[int]bool // whether other agents worked there meanwhile, by execution
}

// filesOf returns the changed files of a run, nil when there are no snapshots. shots may be nil.
func filesOf(shots *workspace.Snapshots) (insight.Snapshots, error) {
	if shots == nil {
		return nil, nil
	}
	all, err := shots.List(context.Background())
	if err != nil || len(all) == 0 {
		return nil, err
	}
	c := changes{shots: shots, shared: map[int]bool{}}
	for _, s := range all {
		if !s.IsStart {
			c.shared[s.Exec] = s.IsShared
		}
	}
	return c, nil
}

// Files implements insight.Snapshots.
func (c changes) Files(exec int) (changed []insight.File, isShared bool, err error) {
	isShared, ok := c.shared[exec]
	if !ok {
		return nil, false, nil
	}
	list, err := c.shots.Diff(context.Background(), exec, mostOfFile, mostOfExec)
	if err != nil {
		return nil, false, err
	}
	changed = make([]insight.File, 0, len(list))
	for _, one := range list {
		changed = append(changed, insight.File{Path: one.Path, Change: one.What, Diff: one.Diff, Cut: one.IsCut})
	}
	return changed, isShared, nil
}
