package state

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// HistoryStep is a step of a run as its journal has it.
type HistoryStep struct {
	// Run is the run before the step. It must not be changed, and holds until the next step
	// is asked for.
	Run *Run
	// Delta is the step. nil says that the history begins here, with Run, or begins again:
	// the steps before are not kept.
	Delta *Delta
}

// After returns the run after the step, which may be kept as long as it is not changed.
func (s HistoryStep) After() *Run {
	if s.Delta == nil {
		return s.Run.With(&Delta{Progress: s.Run.Progress, Events: s.Run.Events})
	}
	return s.Run.With(s.Delta)
}

// Events returns the events of the step. Of a step without a Delta they are those of the last
// step before the history begins.
func (s HistoryStep) Events() []Event {
	if s.Delta == nil {
		return s.Run.Events
	}
	return s.Delta.Events
}

// Started returns the numbers of the state executions that the step has started, in order.
// Those that it has only repeated are not among them.
func (s HistoryStep) Started() []int {
	var begun []int
	for _, e := range s.Events() {
		_, starts := e.Body.(*StateStarted)
		if !starts || e.Exec == 0 || s.Delta != nil && e.Exec <= s.Run.Progress.Iterations {
			continue
		}
		if a := s.Run.started(e.Exec); s.Delta == nil && (a == nil || a.Exec.Noted) {
			continue
		}
		begun = append(begun, e.Exec)
	}
	return begun
}

// ReadHistory returns the steps of a run in order, as far as they are kept, up to the present
// one, without taking its lock. It needs memory for one run. Lines up to the snapshot that are
// damaged, and those after them, are left out up to the next whole run. The errors are those of
// Read; nothing follows one.
func ReadHistory(dir, id string) iter.Seq2[HistoryStep, error] {
	return func(yield func(HistoryStep, error) bool) {
		if _, err := read(dir, id, func(s HistoryStep) bool { return yield(s, nil) }); err != nil {
			yield(HistoryStep{}, err)
		}
	}
}

// reading is one pass through a journal.
type reading struct {
	run    *Run                   // the snapshot, with the steps that have followed it so far
	past   *Run                   // as of the last line, before the snapshot; nil where that is not known
	isNow  bool                   // past the snapshot
	damage *FileError             // of a line; nil again when one follows that is not after the snapshot
	at     int                    // the number of that line
	read   int64                  // bytes up to the end of the line that was taken last
	tell   func(HistoryStep) bool // nil: nobody wants the steps
}

// errEnough says that nobody wants more steps.
var errEnough = errors.New("enough")

// through applies the steps of a journal that come after the snapshot to the run, and tells of
// them, and of those before. A last line that is damaged counts as not written; other damage
// after the snapshot is a *FileError.
func (h *reading) through(journal io.Reader) error {
	last := 0
	for e, err := range entries(journal) {
		if err != nil {
			return err
		}
		last = e.n
		if err := h.take(e); err != nil {
			return err
		}
	}
	if h.damage != nil && h.at < last {
		return h.damage
	}
	return h.begin()
}

func (h *reading) take(e entry) error {
	h.read += e.size
	switch {
	case e.damage == nil && !h.isNow && e.seq <= h.run.Progress.Seq:
		h.damage = nil
		return h.back(e)
	case h.damage != nil:
		return h.damage
	case e.damage != nil:
		h.past = nil
		_ = h.note(e, e.damage) // it matters to those who ask for what follows
		return nil
	}
	if err := h.begin(); err != nil {
		return err
	}
	return h.step(e)
}

func (h *reading) note(e entry, what error) *FileError {
	h.damage, h.at = &FileError{Field: fmt.Sprintf("line %d", e.n), What: what.Error()}, e.n
	return h.damage
}

// back goes on with a line that is not after the snapshot, of which nothing but the history needs
// what is in it.
func (h *reading) back(e entry) error {
	if h.tell == nil {
		return nil
	}
	before := h.past
	h.past = nil
	switch {
	case e.isRun:
		r, err := Decode(e.data)
		if err != nil || r.WorkflowID != h.run.WorkflowID {
			return nil //nolint:nilerr // it is left out
		}
		h.past = r
		if before != nil && before.Progress.Seq == r.Progress.Seq { // the same on another machine
			return nil
		}
		return h.say(HistoryStep{Run: r})
	case before == nil:
		return nil
	}
	d := new(Delta)
	if jsonstrict.Decode(e.data, d) != nil || d.Progress.Seq != before.Progress.Seq+1 || d.checkFollows(before) != nil {
		return nil
	}
	err := h.say(HistoryStep{before, d})
	before.Apply(d)
	h.past = before
	return err
}

func (h *reading) say(s HistoryStep) error {
	if h.tell != nil && !h.tell(s) {
		return errEnough
	}
	return nil
}

// begin goes on from the snapshot, which the history has led to, or begins with.
func (h *reading) begin() error {
	if h.isNow {
		return nil
	}
	h.isNow = true
	if h.past != nil && h.past.Progress.Seq == h.run.Progress.Seq {
		return nil
	}
	return h.say(HistoryStep{Run: h.run})
}

// step goes on with a line after the snapshot.
func (h *reading) step(e entry) error {
	if e.isRun {
		if e.seq != h.run.Progress.Seq { // its snapshot was never written, so that it is the last one
			_ = h.note(e, fmt.Errorf("is a run after step %d, want step %d", e.seq, h.run.Progress.Seq+1))
		}
		return nil
	}
	d := new(Delta)
	if err := invalid(jsonstrict.Decode(e.data, d)); err != nil {
		_ = h.note(e, err)
		return nil
	}
	if d.Progress.Seq != h.run.Progress.Seq+1 {
		return h.note(e, fmt.Errorf("is step %d, want %d", d.Progress.Seq, h.run.Progress.Seq+1))
	}
	if err := d.checkFollows(h.run); err != nil {
		return h.note(e, err)
	}
	err := h.say(HistoryStep{h.run, d})
	h.run.Apply(d)
	return err
}

// checkFollows returns an error when the step can't be the one after r: agents are in the order
// of their numbers, and the number of an agent never changes.
func (d *Delta) checkFollows(r *Run) error {
	r.index()
	last, seen := 0, map[string]bool{}
	if n := len(r.Agents); n > 0 {
		last = r.Agents[n-1].N
	}
	for i, a := range d.Agents {
		was, known := r.byID[a.ID]
		switch {
		case seen[a.ID]:
			return fmt.Errorf("agents[%d].id: %q appears twice", i, a.ID)
		case known && a.N != was.N:
			return fmt.Errorf("agents[%d].n: is %d, was %d", i, a.N, was.N)
		case !known && a.N <= last:
			return fmt.Errorf("agents[%d].n: is %d, want more than %d", i, a.N, last)
		}
		seen[a.ID], last = true, max(last, a.N)
	}
	return nil
}

// ErrNeverStarted says that a run has no state execution of that number.
var ErrNeverStarted = errors.New("the run has no such state execution")

// NotKeptError says that the step which started a state execution is not kept any more.
type NotKeptError struct {
	Exec   int
	Oldest int // the first execution whose step is kept; 0 for none
}

// Error implements error.
func (e *NotKeptError) Error() string {
	if e.Oldest == 0 {
		return fmt.Sprintf("the step that started state execution %d is not kept, nor is any other one", e.Exec)
	}
	return fmt.Sprintf("the step that started state execution %d is not kept any more: the oldest one that is kept started %d", e.Exec, e.Oldest)
}

// Started returns the run as it was after the step that started state execution n, for Rerun.
// It reads the history as ReadHistory does. The error is ErrNeverStarted for a number that no
// execution has, a *NotKeptError for one whose step is not kept, and else one of ReadHistory.
func Started(dir, id string, n int) (*Run, error) {
	oldest, begun := 0, 0
	for step, err := range ReadHistory(dir, id) {
		if err != nil {
			return nil, err
		}
		for _, exec := range step.Started() {
			if exec == n {
				return step.After(), nil
			}
			if oldest == 0 {
				oldest = exec
			}
		}
		begun = step.Run.Progress.Iterations
		if step.Delta != nil {
			begun = step.Delta.Progress.Iterations
		}
	}
	if n < 1 || n > begun {
		return nil, fmt.Errorf("state execution %d: %w", n, ErrNeverStarted)
	}
	return nil, &NotKeptError{Exec: n, Oldest: oldest}
}
