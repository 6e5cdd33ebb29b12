// Package snapshots keeps the files of a run's git worktrees as they are after prompts,
// beside the run. Whatever goes wrong is a note for people: the run goes on without the
// snapshot.
package snapshots

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

// Path is where the snapshots of a run are, by the run's own folder.
func Path(runDir string) string { return filepath.Join(runDir, "snapshots.git") }

const (
	// takeWithin is how long one snapshot may take. After two that took longer no more are
	// taken: each keeps the next prompt waiting.
	takeWithin = 20 * time.Second
	maxSlow    = 2
	// endWithin is how long the last one may take when the run has stopped, and
	// cancelledWithin when the job wants to end.
	endWithin       = 3 * time.Second
	cancelledWithin = 300 * time.Millisecond
	maxNotes        = 5
)

// Taker takes snapshots, one at a time, as *workspace.Snapshots does.
type Taker interface {
	Take(ctx context.Context, shot workspace.Shot) error
}

// Keeper has snapshots taken while a run is driven. It implements runner.Snapshots.
type Keeper struct {
	taker    Taker
	reporter runner.Reporter
	ctx      context.Context
	cancel   context.CancelFunc
	last     <-chan struct{} // closed when the last one that was asked for is taken

	mu    sync.Mutex // guards what follows
	slow  int
	notes []string // all that there were
	told  int      // how many of them were told
}

// New returns a keeper, which has to be closed. Notes go to the reporter, from the
// goroutines that call the methods.
func New(taker Taker, reporter runner.Reporter) *Keeper {
	k := &Keeper{taker: taker, reporter: reporter}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// Start takes a snapshot of each folder that the agents of a run work in, before any of
// them does. It returns when that is done.
func (k *Keeper) Start(run *state.Run) {
	dirs := []string{run.Dir}
	for _, a := range run.Agents {
		dirs = append(dirs, a.Dir)
		for _, f := range a.Stack {
			dirs = append(dirs, f.Dir)
		}
	}
	seen := []string{""}
	for _, dir := range dirs {
		if slices.Contains(seen, dir) {
			continue
		}
		seen = append(seen, dir)
		k.take(workspace.Shot{Exec: run.Progress.Iterations, IsStart: true, Dir: dir})
	}
	k.tell()
}

// Take implements runner.Snapshots.
func (k *Keeper) Take(s runner.Shot) <-chan struct{} {
	k.tell()
	done, before := make(chan struct{}), k.last
	k.last = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		k.take(workspace.Shot{Exec: s.Exec, Agent: s.Agent, State: s.State, Dir: s.Dir, IsShared: s.IsShared})
	}()
	return done
}

// Wait returns when all snapshots that were asked for are taken, or the context is done.
func (k *Keeper) Wait(ctx context.Context) {
	if k.last == nil {
		return
	}
	select {
	case <-k.last:
	case <-ctx.Done():
	}
}

// Close waits a little for the last snapshot, less when the run was cancelled, and ends what
// is under way then.
func (k *Keeper) Close(isCancelled bool) {
	within := endWithin
	if isCancelled {
		within = cancelledWithin
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	k.Wait(ctx)
	k.cancel()
	if k.last != nil {
		<-k.last
	}
	k.tell()
}

func (k *Keeper) take(shot workspace.Shot) {
	if k.ctx.Err() != nil || k.isOff() {
		return
	}
	ctx, cancel := context.WithTimeoutCause(k.ctx, takeWithin, errSlow)
	defer cancel()
	if err := k.taker.Take(ctx, shot); err != nil && k.ctx.Err() == nil {
		k.failed(err)
	}
}

var errSlow = fmt.Errorf("it took more than %v", takeWithin)

func (k *Keeper) isOff() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.slow >= maxSlow
}

// failed notes why there is no snapshot, the same once.
func (k *Keeper) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	note := "no snapshot of the files: " + err.Error()
	if errors.Is(err, errSlow) {
		if k.slow++; k.slow >= maxSlow {
			note += "; no more are taken"
		}
	}
	if len(k.notes) < maxNotes && !slices.Contains(k.notes, note) {
		k.notes = append(k.notes, note)
	}
}

// tell tells what there is to be told.
func (k *Keeper) tell() {
	k.mu.Lock()
	notes := k.notes[k.told:]
	k.told = len(k.notes)
	k.mu.Unlock()
	for _, note := range notes {
		k.reporter.Note("", "", note)
	}
}
