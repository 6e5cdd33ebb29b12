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
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// SnapshotsPath returns the path of the snapshots in a run's own directory.
func SnapshotsPath(runDir string) string { return filepath.Join(runDir, "snapshots.git") }

const (
	// takeWithin is the time limit of a snapshot. After a snapshot has reached the limit, further ones
	// are not taken, because each snapshot delays the next prompt.
	takeWithin = 20 * time.Second
	// endWithin is the maximum time that the run waits for the last snapshot after it has stopped.
	endWithin = 3 * time.Second
	maxNotes  = 5
)

// snapshots takes snapshots of a run's git worktrees after prompts. If a snapshot fails, the run
// continues, and a note is reported. It implements runner.Snapshots.
type snapshots struct {
	takeOne  func(context.Context, workspace.Snapshot) error // never called concurrently
	reporter runner.Reporter                                 // gets the notes, from the goroutine that calls the methods
	ctx      context.Context
	cancel   context.CancelFunc
	last     <-chan struct{} // closed when the last requested snapshot is done
	isSlow   bool            // a snapshot has reached the time limit

	mu       sync.Mutex // guards the fields below
	notes    []string   // without repetitions
	reported int        // number of notes that were returned by Notes
}

// newSnapshots returns snapshots that use takeOne. They stop when ctx ends. The caller must call
// close.
func newSnapshots(ctx context.Context, takeOne func(context.Context, workspace.Snapshot) error, reporter runner.Reporter) *snapshots {
	k := &snapshots{takeOne: takeOne, reporter: reporter}
	k.ctx, k.cancel = context.WithCancel(ctx)
	return k
}

// start takes a snapshot of each directory in which agents of the run work, and waits until that is done.
// It is called before any agent starts.
func (k *snapshots) start(run *state.Run) {
	for _, dir := range run.Dirs() {
		k.take(workspace.Snapshot{Exec: run.Progress.Iterations, IsStart: true, Dir: dir})
	}
	k.reportNotes()
}

// Take implements runner.Snapshots.
func (k *snapshots) Take(s runner.SnapshotRequest) <-chan struct{} {
	k.reportNotes()
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

// close waits for the last snapshot, but for endWithin at most; then it cancels the snapshot.
func (k *snapshots) close() {
	end := time.AfterFunc(endWithin, k.cancel)
	defer end.Stop()
	if k.last != nil {
		<-k.last
	}
	k.cancel()
	k.reportNotes()
}

// take takes one snapshot. An error is added to the notes, unless they contain the same text.
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

// reportNotes reports the notes that it has not reported yet.
func (k *snapshots) reportNotes() {
	for _, note := range k.Notes() {
		k.reporter.Note("", "", note)
	}
}

// Notes implements runner.Snapshots.
func (k *snapshots) Notes() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.reported
	k.reported = len(k.notes)
	return slices.Clone(k.notes[before:])
}
