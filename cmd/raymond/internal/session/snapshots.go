package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// SnapshotsPath is where the snapshots of a run are, by the run's own folder.
func SnapshotsPath(runDir string) string { return filepath.Join(runDir, "snapshots.git") }

const (
	// takeWithin is how long one snapshot may take. After one that took longer no more are
	// taken: each keeps the next prompt waiting.
	takeWithin = 20 * time.Second
	// endWithin is how long the last one may take when the run has stopped.
	endWithin = 3 * time.Second
	maxNotes  = 5
)

// snapshots keeps the files of a run's git worktrees as they are after prompts, beside the run.
// Whatever goes wrong is a note for people: the run goes on without the snapshot. It implements
// runner.Snapshots.
type snapshots struct {
	takeOne  func(context.Context, workspace.Snapshot) error // is called once at a time
	reporter runner.Reporter                                 // is told notes, from the goroutine that calls the methods
	ctx      context.Context
	cancel   context.CancelFunc
	last     <-chan struct{} // closed when the last one that was asked for is taken
	isSlow   bool            // one took too long

	mu    sync.Mutex // guards what follows
	notes []string   // each once
	told  int        // of the notes
}

// newSnapshots returns snapshots, which have to be closed. After the end of ctx none are taken.
func newSnapshots(ctx context.Context, takeOne func(context.Context, workspace.Snapshot) error, reporter runner.Reporter) *snapshots {
	k := &snapshots{takeOne: takeOne, reporter: reporter}
	k.ctx, k.cancel = context.WithCancel(ctx)
	return k
}

// start takes a snapshot of each folder that the agents of a run work in, before any of
// them does. It returns when that is done.
func (k *snapshots) start(run *state.Run) {
	for _, dir := range checkpoints.Dirs(run) {
		k.take(workspace.Snapshot{Exec: run.Progress.Iterations, IsStart: true, Dir: dir})
	}
	k.tell()
}

// Take implements runner.Snapshots.
func (k *snapshots) Take(s runner.SnapshotRequest) <-chan struct{} {
	k.tell()
	done, before := make(chan struct{}), k.last
	k.last = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		k.take(workspace.Snapshot{Exec: s.Exec, Agent: s.Agent, State: s.State, Dir: s.Dir, IsShared: s.IsShared})
	}()
	return done
}

// close waits a little for the last snapshot, and ends it then.
func (k *snapshots) close() {
	end := time.AfterFunc(endWithin, k.cancel)
	defer end.Stop()
	if k.last != nil {
		<-k.last
	}
	k.cancel()
	k.tell()
}

// take takes one, after all before it. Why there is none is a note, the same once.
func (k *snapshots) take(shot workspace.Snapshot) {
	if k.ctx.Err() != nil || k.isSlow {
		return
	}
	ctx, cancel := context.WithTimeoutCause(k.ctx, takeWithin, errSlow)
	defer cancel()
	err := k.takeOne(ctx, shot)
	if err == nil || k.ctx.Err() != nil {
		return
	}
	note := "no snapshot of the files: " + err.Error()
	if k.isSlow = errors.Is(err, errSlow); k.isSlow {
		note += "; no more are taken"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.notes) < maxNotes && !slices.Contains(k.notes, note) {
		k.notes = append(k.notes, note)
	}
}

var errSlow = fmt.Errorf("it took more than %v", takeWithin)

// tell reports the notes that it has not reported yet.
func (k *snapshots) tell() {
	for _, note := range k.Notes() {
		k.reporter.Note("", "", note)
	}
}

// Notes implements runner.Snapshots.
func (k *snapshots) Notes() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.told
	k.told = len(k.notes)
	return slices.Clone(k.notes[before:])
}
