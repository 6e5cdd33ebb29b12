package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// taker takes fake snapshots. Each takes one second, or lasts if that is longer.
type taker struct {
	shots []workspace.Snapshot
	busy  bool
	lasts time.Duration
	err   error
}

func (f *taker) take(ctx context.Context, s workspace.Snapshot) error {
	if f.busy {
		return errors.New("two at once")
	}
	f.busy = true
	defer func() { f.busy = false }()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(max(f.lasts, time.Second)):
	}
	f.shots = append(f.shots, s)
	return f.err
}

// notes is a reporter that records the notes about snapshots.
type notes struct {
	runner.Reporter
	list []string
}

func (n *notes) Note(_, _, text string) { n.list = append(n.list, text) }

func TestSnapshotsAreTakenInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n := new(taker), new(notes)
		k := newSnapshots(t.Context(), f.take, n)
		k.start(&state.Run{
			Dir: "/w", Progress: state.Progress{Iterations: 7},
			Agents: []*state.Agent{{Dir: "/w/tree", Stack: []state.Frame{{Dir: "/w"}, {}}}},
		})
		began := time.Now()
		var done []<-chan struct{}
		for i := range 3 {
			done = append(done, k.Take(runner.SnapshotRequest{Exec: 8 + i, Agent: "main", State: "A.md", Dir: "/w", IsShared: i == 2}))
		}
		for i, d := range done {
			<-d
			assert.Check(t, is.Equal(time.Since(began), time.Duration(i+1)*time.Second), "what snapshot %d is taken after", i)
		}
		k.close()
		want := []workspace.Snapshot{
			{Exec: 7, IsStart: true, Dir: "/w"}, {Exec: 7, IsStart: true, Dir: "/w/tree"},
			{Exec: 8, Agent: "main", State: "A.md", Dir: "/w"}, {Exec: 9, Agent: "main", State: "A.md", Dir: "/w"},
			{Exec: 10, Agent: "main", State: "A.md", Dir: "/w", IsShared: true},
		}
		assert.Check(t, is.DeepEqual(f.shots, want, cmpopts.EquateComparable(workspace.Snapshot{})), "snapshots")
		assert.Check(t, is.Len(n.list, 0))
	})
}

// TestFailedAndSlowSnapshotsAreNoted checks that failed snapshots are reported as notes, and the same failure only once. A snapshot
// that takes too long is canceled, and snapshots stop then.
func TestFailedAndSlowSnapshotsAreNoted(t *testing.T) {
	for want, c := range map[string]struct {
		taker
		took time.Duration
	}{
		"no snapshot of the files: the disk is full":                         {taker{err: errors.New("the disk is full")}, 4 * time.Second},
		"no snapshot of the files: it took more than 20s; no more are taken": {taker{lasts: time.Hour}, takeWithin},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, began := new(notes), time.Now()
			k := newSnapshots(t.Context(), c.take, n)
			for i := range 4 {
				<-k.Take(runner.SnapshotRequest{Exec: i + 1})
			}
			k.close()
			assert.Check(t, is.Equal(time.Since(began), c.took), "time that it took")
			assert.Check(t, is.DeepEqual(n.list, []string{want}))
		})
	}
}

// TestCloseWaitsALittle checks that close waits three seconds for the last snapshot and then cancels it.
func TestCloseWaitsALittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &taker{lasts: 10 * time.Second}
		k := newSnapshots(t.Context(), f.take, new(notes))
		k.Take(runner.SnapshotRequest{Exec: 1})
		began := time.Now()
		k.close()
		if took := time.Since(began); took != 3*time.Second || len(f.shots) != 0 || f.busy {
			t.Errorf("the end waited %v, want 3s; snapshots %v, under way %v", took, f.shots, f.busy)
		}
	})
}
