package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

// errUnavailable is the error of a service that fails for now.
var errUnavailable = &forge.Error{Op: "store artifact", Status: 503, Attempts: 5}

// fakeStorage is the storage of a saver. Tests control how long a save takes and whether it fails.
type fakeStorage struct {
	mu      sync.Mutex // guards the fields below
	steps   []int      // of the snapshots whose save has begun
	at      []time.Time
	current int // saves under way
	most    int
	stored  int

	takes time.Duration
	fail  func() error // nil for never
}

func (d *fakeStorage) save(ctx context.Context, shot *snapshot) (state.Checkpoint, error) {
	step := shot.manifest.Seq
	d.mu.Lock()
	d.steps, d.at = append(d.steps, step), append(d.at, time.Now())
	d.current++
	d.most = max(d.most, d.current)
	d.mu.Unlock()
	err := forge.Sleep(ctx, d.takes)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current--
	if err == nil && d.fail != nil {
		err = d.fail()
	}
	if err == nil {
		d.stored++
	}
	return state.Checkpoint{Store: "artifact", SeqStored: step, Bytes: 10}, err
}

func (d *fakeStorage) saver(interval time.Duration) *saver {
	s := newSaver(&writer{c: &Config{Interval: interval}, shelf: &slots.Slots{}})
	s.save, s.stored = d.save, func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.stored
	}
	return s
}

// snapshotOf returns a snapshot of a step.
func snapshotOf(seq int) *snapshot { return &snapshot{manifest: checkpoint.Manifest{Seq: seq}} }

// drive simulates an owner that commits a step at a fixed interval, and returns the steps whose
// save it has started. It fails the test if the saver delays the owner.
func drive(t *testing.T, s *saver, steps int, every time.Duration) []int {
	t.Helper()
	var started []int
	for i := 1; i <= steps; i++ {
		before := time.Now()
		if s.isDue(before) {
			s.start(snapshotOf(i))
			started = append(started, i)
		}
		waited := time.Since(before)
		assert.Check(t, waited <= 0, "step %d: the owner was delayed by %v", i, waited)
		time.Sleep(every)
	}
	return started
}

// events returns the unread events of a saver.
func events(s *saver) []*state.Checkpoint {
	var list []*state.Checkpoint
	for {
		select {
		case c := <-s.events:
			list = append(list, c)
		default:
			return list
		}
	}
}

// TestSavingNeverDelaysTheOwner checks that with a slow service, one save is under way at a time,
// and that saves begin at least an interval apart.
func TestSavingNeverDelaysTheOwner(t *testing.T) {
	for _, takes := range []time.Duration{0, 30 * time.Second, 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			d := &fakeStorage{takes: takes}
			s := d.saver(time.Minute)
			started := drive(t, s, 200, 7*time.Second)
			event, err := s.final(t.Context(), snapshotOf(999))
			assert.Check(t, err == nil && event.SeqStored == 999 && event.Error == "", "%v: final = %+v, %v", takes, event, err)
			assert.Check(t, is.Equal(d.most, 1), "%v: saves at once", takes)
			assert.Check(t, slices.Equal(d.steps, append(started, 999)) || takes >= time.Minute, "%v: saved %v, started %v", takes, d.steps, started)
			for i := 1; i < len(started); i++ {
				apart := d.at[i].Sub(d.at[i-1])
				if longest := max(time.Minute, takes) + 7*time.Second; apart < time.Minute || apart > longest {
					t.Errorf("%v: saves %d and %d began %v apart, want a minute to %v", takes, i, i+1, apart, longest)
				}
			}
			list := events(s)
			assert.Check(t, is.Len(list, len(started)), "%v: events", takes)
		})
	}
}

// TestSavingContinuesAfterFailures checks that each failed save is reported, and that saving
// continues after a pause.
func TestSavingContinuesAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeStorage{}
		healthy := time.Now().Add(10 * time.Minute)
		d.fail = func() error {
			if time.Now().Before(healthy) {
				return errUnavailable
			}
			return nil
		}
		s := d.saver(time.Minute)
		drive(t, s, 1000, time.Second)
		list := events(s)
		assert.Assert(t, is.Len(list, 20+7), "want two a minute for ten minutes, and then one a minute")
		for i, c := range list {
			assert.Check(t, is.Equal(strings.Contains(c.Error, "status 503"), i < 20), "event %d: %+v", i, c)
		}
		s.stop()
	})
}

// TestConflictEndsSaving checks that a conflict is reported once and that even the last snapshot is
// not saved after it.
func TestConflictEndsSaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conflict := &slots.Conflict{Name: "x", ID: 5, What: "theirs"}
		d := &fakeStorage{fail: func() error { return fmt.Errorf("save: %w", conflict) }}
		s := d.saver(time.Second)
		drive(t, s, 100, time.Second)
		event, err := s.final(t.Context(), snapshotOf(999))
		if !errors.Is(s.err, conflict) || !errors.Is(err, conflict) || event.Error == "" {
			t.Errorf("err = %v, final = %+v, %v; want the conflict", s.err, event, err)
		}
		assert.Check(t, slices.Equal(d.steps, []int{1}) && len(events(s)) == 1, "tried %v, want the first only", d.steps)
	})
}

// TestRoomIsLeftForTheLastSave checks that saving in the background ends before the job has reached
// its limit.
func TestRoomIsLeftForTheLastSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeStorage{}
		s := d.saver(time.Second)
		started := drive(t, s, 1000, time.Second)
		if len(started) >= slots.MaxStores || len(started) < slots.MaxStores-20 {
			t.Errorf("%d saves in the background, want some less than %d", len(started), slots.MaxStores)
		}
		_, err := s.final(t.Context(), snapshotOf(999))
		assert.Check(t, err, "final: %v", err)
	})
}

// TestFinalWaitsForTheCurrentSave checks that final waits for a save that is under way, and cancels
// it after a time.
func TestFinalWaitsForTheCurrentSave(t *testing.T) {
	for _, tt := range []struct {
		takes, waited time.Duration
		first         string
	}{
		{8 * time.Second, 13 * time.Second, ""},
		{time.Minute, time.Minute + 10*time.Second, context.Canceled.Error()},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &fakeStorage{takes: tt.takes}
			s := d.saver(time.Minute)
			s.start(snapshotOf(1))
			time.Sleep(3 * time.Second)
			began := time.Now()
			_, err := s.final(t.Context(), snapshotOf(2))
			assert.Check(t, err, "takes %v: final: %v", tt.takes, err)
			if waited := time.Since(began); waited != tt.waited || d.most != 1 {
				t.Errorf("takes %v: final took %v with %d at once, want %v and one", tt.takes, waited, d.most, tt.waited)
			}
			if list := events(s); len(list) != 1 || list[0].Error != tt.first {
				t.Errorf("takes %v: events %+v, want one with the error %q", tt.takes, list, tt.first)
			}
			assert.Check(t, !s.isDue(time.Now().Add(time.Hour)), "a save is due after the last")
			if s.start(snapshotOf(3)); len(d.steps) != 2 {
				t.Errorf("saved %v, want nothing after the last", d.steps)
			}
		})
	}
}

// TestStopEndsTheCurrentSave checks that stop ends a save. synctest fails the test if a goroutine
// is left.
func TestStopEndsTheCurrentSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeStorage{takes: time.Hour}
		s := d.saver(time.Minute)
		s.stop()
		s = d.saver(time.Minute)
		s.start(snapshotOf(1))
		synctest.Wait()
		began := time.Now()
		s.stop()
		assert.Check(t, time.Since(began) <= 0 && d.current == 0, "stop took %v, %d saves continue", time.Since(began), d.current)
	})
}
