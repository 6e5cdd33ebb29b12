package runs

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Point is a moment of a run: a state execution was about to start.
type Point struct {
	Exec         int // its number
	Agent, State string
	// Run is the run as it was after the step that started the execution. It must not be
	// changed.
	Run *state.Run
}

// Original is where a run is read that is to be run again, and what the wish is called in problems.
type Original struct {
	StateDir, ID string
	Where        string // such as "--from"
}

// Find returns the point of a run that from names: the number of a state execution, a state
// for its last execution, or STATE#k for its k-th. The run may be under way. What is wrong with
// from is a problem of class usage.
func (s Original) Find(from string) (Point, error) {
	original, list, err := ReadExecutions(s.StateDir, s.ID)
	if err != nil {
		return Point{}, err
	}
	n, err := s.number(from, list)
	if err != nil {
		return Point{}, err
	}
	if of := original.RerunOf; of != nil && n < of.Exec {
		return Point{}, problem.Usage(s.Where, fmt.Sprintf("%d is a state execution of the run %s, of which this one is a rerun from %d", n, of.WorkflowID, of.Exec),
			"name the run "+of.WorkflowID)
	}
	run, err := state.Started(s.StateDir, s.ID, n)
	if err != nil {
		return Point{}, s.notThere(n, list, err)
	}
	for _, a := range run.Agents {
		if a.Exec != nil && a.Exec.Iteration == n {
			return Point{Exec: n, Agent: a.ID, State: a.State, Run: run}, nil
		}
	}
	return Point{}, &state.FileError{Path: filepath.Join(s.StateDir, s.ID+state.JournalExt), What: fmt.Sprintf("no agent begins state execution %d in the step that started it", n)}
}

// number returns the number of the state execution that from names.
func (s Original) number(from string, list []Execution) (int, error) {
	if from != "" && strings.Trim(from, "0123456789") == "" {
		n, err := strconv.Atoi(from)
		if err != nil || n == 0 || from[0] == '0' {
			return 0, s.usage(fmt.Sprintf("%q is no number of a state execution", problem.Shorten(from)))
		}
		return n, nil
	}
	name, kth := from, 0
	if at := strings.LastIndex(from, "#"); at >= 0 {
		k, err := strconv.Atoi(from[at+1:])
		if err != nil || k < 1 || from[at+1:] != strconv.Itoa(k) {
			return 0, s.usage(fmt.Sprintf("%q: want STATE#k, with a k of 1 or more", problem.Shorten(from)))
		}
		name, kth = from[:at], k
	}
	name, err := s.state(name, list)
	if err != nil {
		return 0, err
	}
	var numbers []int
	for _, e := range list {
		if e.State == name {
			numbers = append(numbers, e.Exec)
		}
	}
	if kth > len(numbers) {
		return 0, s.usage(fmt.Sprintf("%q: %s was run %s", problem.Shorten(from), name, times(len(numbers))))
	}
	if kth == 0 {
		kth = len(numbers)
	}
	return numbers[kth-1], nil
}

// state returns the file name of the state that somebody names, with or without its extension.
func (s Original) state(name string, list []Execution) (string, error) {
	var all, stems []string
	for _, e := range list {
		switch {
		case slices.Contains(all, e.State):
			continue
		case strings.TrimSuffix(e.State, filepath.Ext(e.State)) == name:
			stems = append(stems, e.State)
		}
		all = append(all, e.State)
	}
	switch {
	case slices.Contains(all, name):
		return name, nil
	case len(stems) == 1:
		return stems[0], nil
	case len(stems) > 1:
		return "", s.usage(fmt.Sprintf("%q is more than one state: %s", problem.Shorten(name), strings.Join(stems, ", ")))
	}
	what := fmt.Sprintf("the run has executed no state %q", problem.Shorten(name))
	if near := protocol.Nearest(name, all); near != "" {
		return "", problem.Usage(s.Where, what, "did you mean "+near+"?")
	}
	return "", s.usage(what)
}

// notThere says why the run as it was is not known.
func (s Original) notThere(n int, list []Execution, err error) error {
	var folded *state.NotKeptError
	switch {
	case errors.Is(err, state.ErrNeverStarted) && len(list) > 0:
		return s.usage(fmt.Sprintf("%d is no state execution of the run: they are %d to %d", n, list[0].Exec, list[len(list)-1].Exec))
	case errors.Is(err, state.ErrNeverStarted):
		return s.usage(fmt.Sprintf("%d is no state execution of the run: it has none", n))
	case !errors.As(err, &folded):
		return err
	case folded.Oldest == 0:
		return problem.Usage(s.Where, fmt.Sprintf("how the run was at state execution %d is not kept", n), "the flag --history of a run says how much is kept")
	}
	return problem.Usage(s.Where, fmt.Sprintf("how the run was at state execution %d is no longer kept: the oldest that it can be run again from is %d", n, folded.Oldest),
		fmt.Sprintf("give %d or more; the flag --history of a run says how much is kept", folded.Oldest))
}

// usage is a problem with what names the state execution.
func (s Original) usage(what string) error {
	return problem.Usage(s.Where, what, "raymond history "+s.ID+" lists the state executions")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
