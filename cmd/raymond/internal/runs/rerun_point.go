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

// FindPoint returns the point of a run of a state folder that from names: the number of a state execution, a state
// for its last execution, or STATE#k for its k-th. The run may be under way. What is wrong with
// from is a problem of class usage with where, such as "--from".
func FindPoint(stateDir, id, from, where string) (Point, error) {
	original, list, err := executions(stateDir, id)
	if err != nil {
		return Point{}, err
	}
	n, err := numberOf(from, list)
	if err != nil {
		return Point{}, problem.Usage(where, err.Error(), "raymond history "+id+" lists the state executions")
	}
	if of := original.RerunOf; of != nil && n < of.Exec {
		return Point{}, problem.Usage(where, fmt.Sprintf("%d is a state execution of the run %s, of which this one is a rerun from %d", n, of.WorkflowID, of.Exec),
			"name the run "+of.WorkflowID)
	}
	run, err := state.RunAtExecution(stateDir, id, n)
	var gone *state.NotInHistoryError
	switch {
	case errors.Is(err, state.ErrNeverStarted):
		what := fmt.Sprintf("%d is no state execution of the run", n)
		if len(list) > 0 {
			what += fmt.Sprintf(": they are %d to %d", list[0].Exec, list[len(list)-1].Exec)
		}
		return Point{}, problem.Usage(where, what, "raymond history "+id+" lists the state executions")
	case errors.As(err, &gone) && gone.Oldest == 0:
		return Point{}, problem.Usage(where, fmt.Sprintf("how the run was at state execution %d is not kept", n), "give an earlier one; the flag --history of a run says how much is kept")
	case errors.As(err, &gone):
		return Point{}, problem.Usage(where, fmt.Sprintf("how the run was at state execution %d is not kept: the next that it can be run again from is %d", n, gone.Oldest),
			fmt.Sprintf("give %d or a later one that is kept; the flag --history of a run says how much is kept", gone.Oldest))
	case err != nil:
		return Point{}, err
	}
	for _, a := range run.Agents {
		if a.Exec != nil && a.Exec.Iteration == n {
			return Point{Exec: n, Agent: a.ID, State: a.State, Run: run}, nil
		}
	}
	return Point{}, &state.FileError{Path: filepath.Join(stateDir, id+state.JournalExt), What: fmt.Sprintf("no agent begins state execution %d in the step that started it", n)}
}

// numberOf returns the number of the state execution that from names.
func numberOf(from string, list []Execution) (int, error) {
	if from != "" && strings.Trim(from, "0123456789") == "" {
		n, err := strconv.Atoi(from)
		if err != nil || n == 0 || from[0] == '0' {
			return 0, fmt.Errorf("%q is no number of a state execution", problem.Shorten(from))
		}
		return n, nil
	}
	name, k := from, 0 // the last one
	if i := strings.LastIndexByte(from, '#'); i >= 0 {
		name = from[:i]
		if k, _ = strconv.Atoi(from[i+1:]); k < 1 || from[i+1:] != strconv.Itoa(k) {
			return 0, fmt.Errorf("%q: want STATE#k, with a k of 1 or more", problem.Shorten(from))
		}
	}
	name, err := stateOf(name, list)
	if err != nil {
		return 0, err
	}
	var numbers []int
	for _, e := range list {
		if e.State == name {
			numbers = append(numbers, e.Exec)
		}
	}
	switch {
	case k == 0:
		return numbers[len(numbers)-1], nil
	case k > len(numbers):
		return 0, fmt.Errorf("%q: %s was run %s", problem.Shorten(from), name, state.Count(len(numbers), "time"))
	}
	return numbers[k-1], nil
}

// stateOf returns the file name of the state that somebody names, with or without its extension.
func stateOf(name string, list []Execution) (string, error) {
	var all, stems []string
	for _, e := range list {
		if slices.Contains(all, e.State) {
			continue
		}
		all = append(all, e.State)
		if strings.TrimSuffix(e.State, filepath.Ext(e.State)) == name {
			stems = append(stems, e.State)
		}
	}
	switch {
	case slices.Contains(all, name):
		return name, nil
	case len(stems) == 1:
		return stems[0], nil
	case len(stems) > 1:
		return "", fmt.Errorf("%q is more than one state: %s", problem.Shorten(name), strings.Join(stems, ", "))
	}
	err := fmt.Errorf("the run has executed no state %q", problem.Shorten(name))
	if near := protocol.Nearest(name, all); near != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return "", err
}
