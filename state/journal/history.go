package journal

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// Step is one step of a run, read from its journal.
type Step struct {
	// Run is the run before the step. It must not be changed, and is valid only until the next
	// step is read.
	Run *state.Run
	// Delta is the step. If Begins is set, the history has no earlier steps: Run is already the run
	// after this step, and Delta contains only the run's progress and its last events.
	Delta  *state.Delta
	Begins bool

	end int64 // offset of the end of its line in the journal
}

// firstStep returns the first step of a history that begins with the run r.
func firstStep(r *state.Run) Step {
	return Step{Run: r, Delta: &state.Delta{Progress: r.Progress, Events: r.Events}, Begins: true}
}

// After returns the run after the step. It must not be changed.
func (s Step) After() *state.Run { return s.Run.With(s.Delta) }

// Started returns the numbers of the state executions that the step started, in order. It leaves out
// executions that the step only repeated.
func (s Step) Started() []int {
	var begun []int
	for _, e := range s.Delta.Events {
		_, starts := e.Body.(*state.StateStarted)
		if !starts || e.Exec == 0 || !s.Begins && e.Exec <= s.Run.Progress.Iterations {
			continue
		}
		if a := s.Run.AgentAtExecution(e.Exec); s.Begins && (a == nil || a.Exec.WasInterrupted) {
			continue
		}
		begun = append(begun, e.Exec)
	}
	return begun
}

// History returns the stored steps of a run in order, up to the current one, without taking the
// run's lock. It leaves out a damaged line and the steps after it, up to the next whole run. If an
// error occurs, the sequence ends with it; the errors are the same as for Read.
func History(dir, id string) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		now, err := Read(dir, id)
		if err != nil {
			yield(Step{}, err)
			return
		}
		journal, _, err := files.Open(filepath.Join(dir, id+Ext))
		if err != nil { // the journal is missing; Read would have returned any other error
			yield(firstStep(now), nil)
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
			yield(firstStep(now), nil)
		}
	}
}

// pastSteps returns the steps in a journal up to the run now.
func pastSteps(journal io.Reader, now *state.Run) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		var past *state.Run // the run after the last line; nil if unknown
		at := int64(0)
		for e, err := range readEntries(journal) {
			if err != nil {
				yield(Step{}, err)
				return
			}
			at += e.size
			step := e.step(past, now)
			// isSame is true if the same run was saved again on another machine.
			isSame := e.isRun && past != nil && past.Progress.Seq == e.seq
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

// step returns the step in a line. past is the run before it, or nil. If the line can't be used, Run is
// nil in the result.
func (e entry) step(past, now *state.Run) Step {
	switch {
	case e.damage != nil || e.seq > now.Progress.Seq:
	case e.isRun:
		if r, err := state.Decode(e.data); err == nil && r.WorkflowID == now.WorkflowID {
			return firstStep(r)
		}
	case past != nil:
		if d, err := e.delta(past); err == nil {
			return Step{Run: past, Delta: d}
		}
	}
	return Step{}
}

// delta decodes the step in a line. It returns an error if that step can't follow the run r.
func (e entry) delta(r *state.Run) (*state.Delta, error) {
	d, err := state.DecodeDelta(e.data)
	if err != nil {
		return nil, err
	}
	return d, d.CheckFollows(r)
}

// replay applies to r the steps of a journal that follow r. The lines before these steps are used only for
// the history. A damaged last line counts as not written. So does a whole run in the last line,
// because its snapshot was never completed. Any other damage is a *FileError.
func replay(r *state.Run, journal io.Reader) error {
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

// fileError returns a *FileError that names the line.
func (e entry) fileError(what error) error {
	return &state.FileError{Field: fmt.Sprintf("line %d", e.n), What: what.Error()}
}

// ErrNeverStarted is returned if no state execution has the given number.
var ErrNeverStarted = errors.New("the run has no such state execution")

// NotInHistoryError is returned if the history no longer contains the step that started an execution.
type NotInHistoryError struct {
	Exec   int
	Oldest int // number of the first later execution whose step is stored; 0 if no later step is stored
}

// Error implements error.
func (e *NotInHistoryError) Error() string {
	if e.Oldest == 0 {
		return fmt.Sprintf("the step that started state execution %d is no longer stored, nor is any later step", e.Exec)
	}
	return fmt.Sprintf("the step that started state execution %d is no longer stored; the next available one is state execution %d", e.Exec, e.Oldest)
}

// RunAtExecution returns the run after the step that started state execution n, for use with Rerun. It
// reads the same steps as History. It returns ErrNeverStarted if no execution has this number, and
// *NotInHistoryError if the step of the execution is not stored. Other errors come from History.
func RunAtExecution(dir, id string, n int) (*state.Run, error) {
	oldest, begun := 0, 0
	for step, err := range History(dir, id) {
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
