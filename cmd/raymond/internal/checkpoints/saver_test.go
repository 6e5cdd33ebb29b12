package checkpoints

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

// store503 is the error of a service that fails for now.
var store503 = &forge.Error{Op: "store artifact", Status: 503, Attempts: 5}

// depot is the storage of a saver. Tests control how long a save takes and whether it fails.
type depot struct {
	mu     sync.Mutex // guards the fields below
	images []int      // the steps of snapshots whose save has begun
	at     []time.Time
	now    int // saves under way
	most   int
	stored int

	takes time.Duration
	fail  func(image, try int) error // nil for never
}

func (d *depot) save(ctx context.Context, shot *Snapshot) (state.Checkpoint, error) {
	image := shot.manifest.Seq
	d.mu.Lock()
	d.images, d.at = append(d.images, image), append(d.at, time.Now())
	try := len(d.images)
	d.now++
	d.most = max(d.most, d.now)
	d.mu.Unlock()
	err := forge.Sleep(ctx, d.takes)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now--
	if err == nil && d.fail != nil {
		err = d.fail(image, try)
	}
	if err == nil {
		d.stored++
	}
	return state.Checkpoint{Store: "artifact", SeqStored: image, Bytes: 10}, err
}

func (d *depot) saver(interval time.Duration) *Saver {
	s := (&Store{slots: &slots.Slots{}}).NewSaver(interval)
	s.save, s.stored = d.save, func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.stored
	}
	return s
}

// image returns a snapshot of a step.
func image(seq int) *Snapshot { return &Snapshot{manifest: checkpoint.Manifest{Seq: seq}} }

// drive simulates an owner that commits a step at a fixed interval, and returns the steps whose
// save it has started. It fails the test if the saver delays the owner.
func drive(t *testing.T, s *Saver, steps int, every time.Duration) []int {
	t.Helper()
	var begun []int
	for i := 1; i <= steps; i++ {
		before := time.Now()
		if s.Due(before) {
			s.Start(image(i))
			begun = append(begun, i)
		}
		waited := time.Since(before)
		assert.Check(t, waited <= 0, "step %d: the owner was held up for %v", i, waited)
		time.Sleep(every)
	}
	return begun
}

func told(s *Saver) []*state.Checkpoint {
	var list []*state.Checkpoint
	for {
		select {
		case c := <-s.Events():
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
			d := &depot{takes: takes}
			s := d.saver(time.Minute)
			begun := drive(t, s, 200, 7*time.Second)
			event, err := s.Final(t.Context(), image(999))
			assert.Check(t, err == nil && event.SeqStored == 999 && event.Error == "", "%v: Final = %+v, %v", takes, event, err)
			assert.Check(t, is.Equal(d.most, 1), "%v: saves at once", takes)
			assert.Check(t, slices.Equal(d.images, append(begun, 999)) || takes >= time.Minute, "%v: saved %v, began %v", takes, d.images, begun)
			for i := 1; i < len(begun); i++ {
				apart := d.at[i].Sub(d.at[i-1])
				if longest := max(time.Minute, takes) + 7*time.Second; apart < time.Minute || apart > longest {
					t.Errorf("%v: saves %d and %d began %v apart, want a minute to %v", takes, i, i+1, apart, longest)
				}
			}
			events := told(s)
			assert.Check(t, is.Len(events, len(begun)), "%v: %d events for %d saves", takes, len(events), len(begun))
		})
	}
}

// TestSavingContinuesAfterFailures checks that each failed save is reported, and that saving
// continues after a pause.
func TestSavingContinuesAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &depot{}
		healthy := time.Now().Add(10 * time.Minute)
		d.fail = func(int, int) error {
			if time.Now().Before(healthy) {
				return store503
			}
			return nil
		}
		s := d.saver(time.Minute)
		drive(t, s, 1000, time.Second)
		events := told(s)
		assert.Assert(t, is.Len(events, 20+7), "want two a minute for ten minutes, and then one a minute")
		for i, c := range events {
			assert.Check(t, is.Equal(strings.Contains(c.Error, "status 503"), i < 20), "event %d: %+v", i, c)
		}
		s.Stop()
	})
}

// TestConflictEndsSaving checks that a conflict is reported once and that even the last snapshot is
// not saved after it.
func TestConflictEndsSaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conflict := &slots.Conflict{Name: "x", ID: 5, What: "theirs"}
		d := &depot{fail: func(int, int) error { return fmt.Errorf("save: %w", conflict) }}
		s := d.saver(time.Second)
		drive(t, s, 100, time.Second)
		event, err := s.Final(t.Context(), image(999))
		if !errors.Is(s.err, conflict) || !errors.Is(err, conflict) || event.Error == "" {
			t.Errorf("Err = %v, Final = %+v, %v; want the conflict", s.err, event, err)
		}
		assert.Check(t, slices.Equal(d.images, []int{1}) && len(told(s)) == 1, "tried %v, want the first only", d.images)
	})
}

// TestRoomIsLeftForTheLastSave checks that saving in the background ends before the job has reached
// its limit.
func TestRoomIsLeftForTheLastSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &depot{}
		s := d.saver(time.Second)
		begun := drive(t, s, 1000, time.Second)
		if len(begun) >= slots.MaxStores || len(begun) < slots.MaxStores-20 {
			t.Errorf("%d saves beside the run, want some less than %d", len(begun), slots.MaxStores)
		}
		_, err := s.Final(t.Context(), image(999))
		assert.Check(t, err, "Final: %v", err)
	})
}

// TestFinalWaitsForTheCurrentSave checks that Final waits for a save that is under way, and cancels
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
			d := &depot{takes: tt.takes}
			s := d.saver(time.Minute)
			s.Start(image(1))
			time.Sleep(3 * time.Second)
			began := time.Now()
			_, err := s.Final(t.Context(), image(2))
			assert.Check(t, err, "takes %v: Final: %v", tt.takes, err)
			if waited := time.Since(began); waited != tt.waited || d.most != 1 {
				t.Errorf("takes %v: Final took %v with %d at once, want %v and one", tt.takes, waited, d.most, tt.waited)
			}
			if events := told(s); len(events) != 1 || events[0].Error != tt.first {
				t.Errorf("takes %v: events %+v, want one with the error %q", tt.takes, events, tt.first)
			}
			assert.Check(t, !s.Due(time.Now().Add(time.Hour)), "a save is due after the last")
			if s.Start(image(3)); len(d.images) != 2 {
				t.Errorf("saved %v, want nothing after the last", d.images)
			}
		})
	}
}

// TestStopEndsTheCurrentSave checks that Stop ends a save. synctest fails the test if a goroutine
// is left.
func TestStopEndsTheCurrentSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &depot{takes: time.Hour}
		s := d.saver(time.Minute)
		s.Stop()
		s = d.saver(time.Minute)
		s.Start(image(1))
		synctest.Wait()
		began := time.Now()
		s.Stop()
		assert.Check(t, time.Since(began) <= 0 && d.now == 0, "Stop took %v, %d saves go on", time.Since(began), d.now)
	})
}
