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
	"github.com/raymond-action/raymond-action/state/journal"
)

// Point is the moment in a run when a state execution was about to start.
type Point struct {
	Exec         int // the number of the execution
	Agent, State string
	// Run is the run after the step that started the execution. Callers must not change it.
	Run *state.Run
}

// FindPoint returns the point in a run that the parameter from names: the number of a state execution, a state
// (which means its last execution), or STATE#k for the k-th execution of a state. The run may be driven at
// the same time. If from is invalid, the error is of class usage and contains the parameter where, which
// names the flag or input, such as "--from".
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
		return Point{}, problem.Usage(where, fmt.Sprintf("state execution %d belongs to the run %s, which this run repeats from %d", n, of.WorkflowID, of.Exec),
			"use the run "+of.WorkflowID)
	}
	run, err := journal.RunAtExecution(stateDir, id, n)
	var gone *journal.NotInHistoryError
	switch {
	case errors.Is(err, journal.ErrNeverStarted):
		what := fmt.Sprintf("the run has no state execution %d", n)
		if len(list) > 0 {
			what += fmt.Sprintf("; it has %d to %d", list[0].Exec, list[len(list)-1].Exec)
		}
		return Point{}, problem.Usage(where, what, "raymond history "+id+" lists the state executions")
	case errors.As(err, &gone) && gone.Oldest == 0:
		return Point{}, problem.Usage(where, fmt.Sprintf("the run at state execution %d was not saved", n), "use an earlier one; the flag --history of a run sets how much is saved")
	case errors.As(err, &gone):
		return Point{}, problem.Usage(where, fmt.Sprintf("the run at state execution %d was not saved; the next one that was is %d", n, gone.Oldest),
			fmt.Sprintf("use %d or a later one that was saved; the flag --history of a run sets how much is saved", gone.Oldest))
	case err != nil:
		return Point{}, err
	}
	for _, a := range run.Agents {
		if a.Exec != nil && a.Exec.Iteration == n {
			return Point{Exec: n, Agent: a.ID, State: a.State, Run: run}, nil
		}
	}
	return Point{}, &state.FileError{Path: filepath.Join(stateDir, id+journal.Ext), What: fmt.Sprintf("no agent begins state execution %d in the step that started it", n)}
}

// numberOf returns the number of the state execution that the parameter from names, as in FindPoint. list
// contains the run's executions.
func numberOf(from string, list []Execution) (int, error) {
	if from != "" && strings.Trim(from, "0123456789") == "" {
		n, err := strconv.Atoi(from)
		if err != nil || n == 0 || from[0] == '0' {
			return 0, fmt.Errorf("%q is not the number of a state execution", problem.Shorten(from))
		}
		return n, nil
	}
	name, k := from, 0 // k is 0 for the last execution
	if i := strings.LastIndexByte(from, '#'); i >= 0 {
		name = from[:i]
		if k, _ = strconv.Atoi(from[i+1:]); k < 1 || from[i+1:] != strconv.Itoa(k) {
			return 0, fmt.Errorf("%q: use STATE#k, where k is at least 1", problem.Shorten(from))
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

// stateOf returns the file name of the executed state with the given name, which may lack the extension.
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
		return "", fmt.Errorf("%q matches several states: %s", problem.Shorten(name), strings.Join(stems, ", "))
	}
	err := fmt.Errorf("the run has executed no state %q", problem.Shorten(name))
	if near := protocol.Nearest(name, all); near != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return "", err
}
