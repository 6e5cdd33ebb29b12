package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/state"
)

// Reopen opens the directory, archive or file that a run was started from. The caller must close it.
func Reopen(run *state.Run) (*scope.Scope, error) {
	s, err := scope.Open(run.Scope)
	if err != nil {
		return nil, err
	}
	if filepath.Dir(run.Scope) != filepath.Dir(s.Path) {
		s.Close()
		return nil, &problem.Problem{Class: problem.ClassConflict, Where: run.Scope, What: "is not where the run was started from"}
	}
	return s, nil
}

// ChangedFiles returns the names of the files that a run has used or will need, and that have changed
// since the run started.
func ChangedFiles(run *state.Run, s *scope.Scope) []string {
	names := slices.Clone(run.Used)
	for _, p := range run.StateRefs() {
		names = append(names, p.State)
	}
	for _, name := range slices.Clone(names) {
		if st, ok := s.Workflow.State(name); ok {
			names = append(names, st.SchemaFiles...)
		}
	}
	slices.Sort(names)
	now := s.Workflow.Hashes()
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return now[name] == run.Files[name] })
}

// CheckUnchanged returns an error of class conflict for each changed file. It returns nil if changed is empty.
func CheckUnchanged(changed []string) error {
	var out []error
	for _, name := range changed {
		out = append(out, &problem.Problem{Class: problem.ClassConflict, Where: name, What: "has changed since the run started",
			Hint: "restore it, or resume with --changed-workflow take"})
	}
	return errors.Join(out...)
}

// CheckResume returns an error if a run can't continue with the workflow in s and the options now. file
// is the run's state file.
func CheckResume(now *state.Options, run *state.Run, s *scope.Scope, file string) error {
	if err := checkLoop(s, now); err != nil {
		return err
	}
	return errors.Join(checkStates(run, s, file), checkAttempts(run, s))
}

// checkStates returns an error for each state that an agent is at or will return to, if it is missing or
// can't run.
func checkStates(run *state.Run, s *scope.Scope, file string) error {
	var out []error
	for _, p := range run.StateRefs() {
		st, ok := s.Workflow.State(p.State)
		switch {
		case ok:
			out = append(out, problem.OfWorkflow(s.Path, st.Problems))
		case run.Files[p.State] == "":
			out = append(out, &state.FileError{Path: file, Field: p.Field, What: fmt.Sprintf("%q is not a state of the workflow", problem.Shorten(p.State))})
		default:
			out = append(out, &problem.Problem{Class: problem.ClassConflict, Where: p.State, What: "is missing, and the run is at this state", Hint: "restore it under this name, or start a new run"})
		}
	}
	return errors.Join(out...)
}

// checkAttempts returns an error for each agent that is in a further attempt, or waits for the verdict on an
// attempt, at a state that no longer has done_when commands.
func checkAttempts(run *state.Run, s *scope.Scope) error {
	var out []error
	for _, a := range run.Agents {
		st, ok := s.Workflow.State(a.State)
		if ok && a.Exec != nil && st.Policy.Convergence == nil && (a.Exec.Attempt > 1 || a.Exec.Phase == state.PhaseVerify) {
			out = append(out, &problem.Problem{Class: problem.ClassWorkflow, Where: a.State, What: "no longer has done_when, but an agent is between its attempts"})
		}
	}
	return errors.Join(out...)
}
