package state

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// HistoryStep is a step of a run as its history has it.
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
// one, without taking its lock. It needs memory for one run. Lines that are damaged, and those
// after them, are left out up to the next whole run. The errors are those of Read; nothing
// follows one.
func ReadHistory(dir, id string) iter.Seq2[HistoryStep, error] {
	return func(yield func(HistoryStep, error) bool) {
		r, lines, err := readSaved(dir, id)
		if err != nil {
			yield(HistoryStep{}, err)
			return
		}
		past := reading{id: id, last: r.Progress.Seq, yield: yield}
		if err := past.read(filepath.Join(dir, id+HistoryExt)); err != nil {
			yield(HistoryStep{}, err)
			return
		}
		if past.stopped {
			return
		}
		if past.run == nil || past.run.Progress.Seq != r.Progress.Seq {
			if past.run = r; !yield(HistoryStep{Run: r}, nil) {
				return
			}
		}
		if err := past.replay(lines); err != nil {
			yield(HistoryStep{}, within(filepath.Join(dir, id+".journal"), err))
		}
	}
}

// reading is one pass through a history.
type reading struct {
	id      string
	last    int  // the step of the snapshot, beyond which the history is not believed
	run     *Run // as of the last line; nil after one that is damaged
	yield   func(HistoryStep, error) bool
	stopped bool // nobody wants more
}

// read reads the file with the history. That there is none, or something else, is no error.
func (h *reading) read(path string) error {
	f, _, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrNotRegular) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return h.scan(f)
}

func (h *reading) scan(f *os.File) error {
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), maxFile+1<<10)
	for lines.Scan() {
		isRun, data, err := historyData(lines.Bytes())
		switch seq := seqOf(data); {
		case err != nil:
			h.run = nil
		case seq > h.last:
			return nil // its snapshot was never written
		case isRun:
			h.begin(data)
		case !isRun && h.run != nil:
			h.step(data)
		}
		if h.stopped {
			return nil
		}
	}
	if err := lines.Err(); !errors.Is(err, bufio.ErrTooLong) {
		return err
	}
	h.run = nil
	return nil
}

// begin continues with a whole run. The same step on another machine is no new beginning.
func (h *reading) begin(data []byte) {
	before := h.run
	r, err := Decode(data)
	if h.run = r; err != nil || r.WorkflowID != h.id {
		h.run = nil
		return
	}
	if before != nil && before.Progress.Seq == r.Progress.Seq {
		return
	}
	h.stopped = !h.yield(HistoryStep{Run: r}, nil)
}

// step continues with a step, if it is the next one.
func (h *reading) step(data []byte) {
	d := new(Delta)
	if jsonstrict.Decode(data, d) != nil || d.Progress.Seq != h.run.Progress.Seq+1 || d.checkFollows(h.run) != nil {
		h.run = nil
		return
	}
	h.stopped = !h.yield(HistoryStep{h.run, d}, nil)
	h.run.Apply(d)
}

// replay continues with the steps of the journal, as the function of that name does.
func (h *reading) replay(journal []byte) error {
	for d, err := range following(h.run, journal) {
		if err != nil {
			return err
		}
		if !h.yield(HistoryStep{h.run, d}, nil) {
			return nil
		}
		h.run.Apply(d)
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
