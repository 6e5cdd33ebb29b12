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

// HistoryStep is one step of a run, read from its journal.
type HistoryStep struct {
	// Run is the run before the step. It must not be changed, and is valid only until the next
	// step is read.
	Run *Run
	// Delta is the step. If Begins is set, the earlier steps are not stored: Run is already the run
	// after the step, and Delta repeats its progress and its last events.
	Delta  *Delta
	Begins bool

	end int64 // end of its line in the journal
}

// beginning returns the step with which a history starts at the run r.
func (r *Run) beginning() HistoryStep {
	return HistoryStep{Run: r, Delta: &Delta{Progress: r.Progress, Events: r.Events}, Begins: true}
}

// After returns the run after the step. It must not be changed.
func (s HistoryStep) After() *Run { return s.Run.With(s.Delta) }

// Started returns the numbers of the state executions that the step started, in order. Executions
// that the step only repeated are left out.
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

// ReadHistory returns the stored steps of a run in order, up to the present one, without taking the
// run's lock. A damaged line, and the steps after it up to the next whole run, are left out. Errors
// are the errors of Read; an error ends the sequence.
func ReadHistory(dir, id string) iter.Seq2[HistoryStep, error] {
	return func(yield func(HistoryStep, error) bool) {
		now, err := Read(dir, id)
		if err != nil {
			yield(HistoryStep{}, err)
			return
		}
		journal, _, err := files.Open(filepath.Join(dir, id+JournalExt))
		if err != nil { // the journal is missing; Read would have returned any other error
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

// pastSteps returns the steps of a journal that led to the run now.
func pastSteps(journal io.Reader, now *Run) iter.Seq2[HistoryStep, error] {
	return func(yield func(HistoryStep, error) bool) {
		var past *Run // the run after the last line; nil if unknown
		at := int64(0)
		for e, err := range readEntries(journal) {
			if err != nil {
				yield(HistoryStep{}, err)
				return
			}
			at += e.size
			step := e.step(past, now)
			isSame := e.isRun && past != nil && past.Progress.Seq == e.seq // saved again on another machine
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

// step returns the step of a line that follows the run past. Run is nil if the line can't be used.
func (e journalEntry) step(past, now *Run) HistoryStep {
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

// delta decodes the step of a line. It returns an error if the step can't follow r.
func (e journalEntry) delta(r *Run) (*Delta, error) {
	d := new(Delta)
	if err := invalid(jsonstrict.Decode(e.data, d)); err != nil {
		return nil, err
	}
	if d.Progress.Seq != r.Progress.Seq+1 {
		return nil, fmt.Errorf("is step %d, want %d", d.Progress.Seq, r.Progress.Seq+1)
	}
	return d, d.checkFollows(r)
}

// replay applies the steps of a journal that follow r. Lines before them matter only for the history.
// A damaged last line counts as not written, and so does a whole run at the end, whose snapshot was
// never completed. Any other damage is a *FileError.
func (r *Run) replay(journal io.Reader) error {
	var unwritten error
	snapshot := r.Progress.Seq
	for e, err := range readEntries(journal) {
		switch {
		case err != nil:
			return err
		case e.damage == nil && e.seq <= snapshot && r.Progress.Seq == snapshot:
			unwritten = nil
		case unwritten != nil:
			return unwritten
		case e.damage != nil:
			unwritten = e.fileError(e.damage)
		case e.isRun && e.seq == r.Progress.Seq: // the same run, saved again on another machine
		case e.isRun:
			unwritten = e.fileError(fmt.Errorf("is a run after step %d, want step %d", e.seq, r.Progress.Seq+1))
		default:
			d, err := e.delta(r)
			if err != nil {
				return e.fileError(err)
			}
			r.Apply(d)
		}
	}
	if r.Progress.Seq == snapshot {
		return nil
	}
	return r.Validate()
}

// fileError returns the error about a line.
func (e journalEntry) fileError(what error) error {
	return &FileError{Field: fmt.Sprintf("line %d", e.n), What: what.Error()}
}

// checkFollows returns an error if the step can't follow r: agents must be in the order of their
// numbers, and the number of an agent never changes.
func (d *Delta) checkFollows(r *Run) error {
	r.index()
	last, seen := 0, map[string]bool{}
	if n := len(r.Agents); n > 0 {
		last = r.Agents[n-1].N
	}
	for i, a := range d.Agents {
		old, known := r.byID[a.ID]
		switch {
		case seen[a.ID]:
			return fmt.Errorf("agents[%d].id: %q appears twice", i, a.ID)
		case known && a.N != old.N:
			return fmt.Errorf("agents[%d].n: is %d, was %d", i, a.N, old.N)
		case !known && a.N <= last:
			return fmt.Errorf("agents[%d].n: is %d, want more than %d", i, a.N, last)
		}
		seen[a.ID], last = true, max(last, a.N)
	}
	return nil
}

// ErrNeverStarted is returned for a number without a state execution.
var ErrNeverStarted = errors.New("the run has no such state execution")

// NotInHistoryError is returned if the history no longer contains the step that started an execution.
type NotInHistoryError struct {
	Exec   int
	Oldest int // the first later execution whose step is stored, or 0
}

// Error implements error.
func (e *NotInHistoryError) Error() string {
	if e.Oldest == 0 {
		return fmt.Sprintf("the step that started state execution %d is no longer stored, nor is any later step", e.Exec)
	}
	return fmt.Sprintf("the step that started state execution %d is no longer stored; the next available one is state execution %d", e.Exec, e.Oldest)
}

// RunAtExecution returns the run after the step that started state execution n, for Rerun. It reads the
// history like ReadHistory. Its error is ErrNeverStarted for an unknown number, *NotInHistoryError for an
// execution whose step is not stored, or an error of ReadHistory.
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
