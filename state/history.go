package state

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// HistoryStep is a step of a run as its journal has it.
type HistoryStep struct {
	// Run is the run before the step. It must not be changed, and holds until the next step
	// is asked for.
	Run *Run
	// Delta is the step. Where the history begins, or begins again since the steps before are not kept, it leaves Run as
	// it is, and has the events of the last of those.
	Delta  *Delta
	Begins bool

	end int64 // of the step in its journal
}

// beginning is where a history begins with a run.
func (r *Run) beginning() HistoryStep {
	return HistoryStep{Run: r, Delta: &Delta{Progress: r.Progress, Events: r.Events}, Begins: true}
}

// After returns the run after the step, which may be kept as long as it is not changed.
func (s HistoryStep) After() *Run { return s.Run.With(s.Delta) }

// Started returns the numbers of the state executions that the step has started, in order.
// Those that it has only repeated are not among them.
func (s HistoryStep) Started() []int {
	var begun []int
	for _, e := range s.Delta.Events {
		_, starts := e.Body.(*StateStarted)
		if !starts || e.Exec == 0 || !s.Begins && e.Exec <= s.Run.Progress.Iterations {
			continue
		}
		if a := s.Run.started(e.Exec); s.Begins && (a == nil || a.Exec.WasInterrupted) {
			continue
		}
		begun = append(begun, e.Exec)
	}
	return begun
}

// ReadHistory returns the steps of a run in order, as far as they are kept, up to the present
// one, without taking its lock. Damaged lines, and those after them, are left out up to the next
// whole run. The errors are those of Read; nothing follows one.
func ReadHistory(dir, id string) iter.Seq2[HistoryStep, error] {
	return func(yield func(HistoryStep, error) bool) {
		now, err := Read(dir, id)
		if err != nil {
			yield(HistoryStep{}, err)
			return
		}
		journal, _, err := files.Open(filepath.Join(dir, id+JournalExt))
		if err != nil { // it is missing, as Read would have said otherwise
			yield(now.beginning(), nil)
			return
		}
		defer journal.Close()
		last := 0
		for step, err := range pastSteps(journal, now) {
			if !yield(step, err) || err != nil {
				return
			}
			last = step.Delta.Progress.Seq
		}
		if last < now.Progress.Seq {
			yield(now.beginning(), nil)
		}
	}
}

// pastSteps returns what a journal tells of the steps that have led to a run.
func pastSteps(journal io.Reader, now *Run) iter.Seq2[HistoryStep, error] {
	return func(yield func(HistoryStep, error) bool) {
		var past *Run // as of the last line; nil where that is not known
		at := int64(0)
		for e, err := range entries(journal) {
			if err != nil {
				yield(HistoryStep{}, err)
				return
			}
			at += e.size
			step := e.step(past, now)
			isSame := e.isRun && past != nil && past.Progress.Seq == e.seq // on another machine
			past, step.end = step.Run, at
			if past == nil || isSame {
				continue
			}
			if !yield(step, nil) {
				return
			}
			past.Apply(step.Delta)
		}
	}
}

// step is what a line tells after the one that has led to a run; without a Run where it can't be understood.
func (e entry) step(past, now *Run) HistoryStep {
	switch {
	case e.damage != nil || e.seq > now.Progress.Seq:
	case e.isRun:
		if r, err := Decode(e.data); err == nil && r.WorkflowID == now.WorkflowID {
			return r.beginning()
		}
	case past != nil:
		if d, err := e.delta(past); err == nil {
			return HistoryStep{Run: past, Delta: d}
		}
	}
	return HistoryStep{}
}

// delta is the step that a line has; an error when it can't be the one after r.
func (e entry) delta(r *Run) (*Delta, error) {
	d := new(Delta)
	if err := invalid(jsonstrict.Decode(e.data, d)); err != nil {
		return nil, err
	}
	if d.Progress.Seq != r.Progress.Seq+1 {
		return nil, fmt.Errorf("is step %d, want %d", d.Progress.Seq, r.Progress.Seq+1)
	}
	return d, d.checkFollows(r)
}

// replay applies the steps of a journal that come after the run to it. What the journal has before
// them is the history's matter alone. A last line that is damaged counts as not written, as does a
// whole run, whose snapshot never took its place; other damage is a *FileError.
func (r *Run) replay(journal io.Reader) error {
	var unwritten error
	snapshot := r.Progress.Seq
	for e, err := range entries(journal) {
		switch {
		case err != nil:
			return err
		case e.damage == nil && e.seq <= snapshot && r.Progress.Seq == snapshot:
			unwritten = nil
		case unwritten != nil:
			return unwritten
		case e.damage != nil:
			unwritten = e.refused(e.damage)
		case e.isRun && e.seq == r.Progress.Seq: // the same on another machine
		case e.isRun:
			unwritten = e.refused(fmt.Errorf("is a run after step %d, want step %d", e.seq, r.Progress.Seq+1))
		default:
			d, err := e.delta(r)
			if err != nil {
				return e.refused(err)
			}
			r.Apply(d)
		}
	}
	if r.Progress.Seq == snapshot {
		return nil
	}
	return r.Validate()
}

// refused is the error about a line.
func (e entry) refused(what error) error {
	return &FileError{Field: fmt.Sprintf("line %d", e.n), What: what.Error()}
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

// NotInHistoryError says that the step which started a state execution is not kept any more.
type NotInHistoryError struct {
	Exec   int
	Oldest int // the first later execution whose step is kept; 0 for none
}

// Error implements error.
func (e *NotInHistoryError) Error() string {
	if e.Oldest == 0 {
		return fmt.Sprintf("the step that started state execution %d is not kept, nor is that of a later one", e.Exec)
	}
	return fmt.Sprintf("the step that started state execution %d is not kept: the next one that is kept started %d", e.Exec, e.Oldest)
}

// RunAtExecution returns the run as it was after the step that started state execution n, for Rerun.
// It reads the history as ReadHistory does. The error is ErrNeverStarted for a number that no
// execution has, a *NotKeptError for one whose step is not kept, and else one of ReadHistory.
func RunAtExecution(dir, id string, n int) (*Run, error) {
	oldest, begun := 0, 0
	for step, err := range ReadHistory(dir, id) {
		if err != nil {
			return nil, err
		}
		for _, exec := range step.Started() {
			if exec == n {
				return step.After(), nil
			}
			if oldest == 0 && exec > n {
				oldest = exec
			}
		}
		begun = step.Delta.Progress.Iterations
	}
	if n < 1 || n > begun {
		return nil, fmt.Errorf("state execution %d: %w", n, ErrNeverStarted)
	}
	return nil, &NotInHistoryError{Exec: n, Oldest: oldest}
}
