package session

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
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

// CheckResume returns an error if a run can't continue with the workflow in s and the options now: if a state that an
// agent is at or will return to is missing or can't run, or if an agent is between two attempts, or waits for the
// verdict on an attempt, at a state that no longer has done_when commands. file is the run's state file.
func CheckResume(now *state.Options, run *state.Run, s *scope.Scope, file string) error {
	if err := checkLoop(s, now); err != nil {
		return err
	}
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
	for _, a := range run.Agents {
		st, ok := s.Workflow.State(a.State)
		if ok && a.Exec != nil && st.Policy.Convergence == nil && (a.Exec.Attempt > 1 || a.Exec.Phase == state.PhaseVerify) {
			out = append(out, &problem.Problem{Class: problem.ClassWorkflow, Where: a.State, What: "no longer has done_when, but an agent is between its attempts"})
		}
	}
	return errors.Join(out...)
}

// NewRerun creates a run that begins at a point of another run, with the changes that the flags ask for.
// It checks the current workflow, and returns the warnings of lint, one line each. The new run still
// refers to the other run's conversations and directories.
func NewRerun(o *options.Options, s *scope.Scope, at runs.Point) (run *state.Run, warnings []string, err error) {
	run, err = state.Rerun(at.Run, at.Exec, state.RerunParams{WorkflowID: newID(o, s), Mark: newToken(), Now: time.Now(), Files: s.Workflow.Hashes()})
	var gone *state.MissingStateError
	if errors.As(err, &gone) {
		return nil, nil, &problem.Problem{Class: problem.ClassWorkflow, Where: gone.State, What: "is missing, and the run needs this state"}
	}
	if err != nil {
		return nil, nil, err
	}
	run.Scope, run.Options = s.Path, o.Apply(at.Run.Options)
	run.Meta = maps.Clone(at.Run.Meta)
	for k, v := range o.Meta {
		if run.Meta == nil {
			run.Meta = map[string]string{}
		}
		run.Meta[k] = v
	}
	if err := CheckResume(&run.Options, run, s, s.Path); err != nil {
		return nil, nil, err
	}
	warnings, err = startCheck(o, s, run)
	if o.IsGiven("agent") || o.IsGiven("agent-command") {
		warnings = append(warnings, startNewConversations(run, s)...)
	}
	if a, ok := run.Agent(at.Agent); ok && (o.IsGiven("input") || o.IsGiven("input-file")) {
		a.Payload = state.Text(o.Input + o.InputFile)
		if why := s.Workflow.CheckInput(a.State, string(a.Payload)); why != "" {
			err = errors.Join(err, problem.Usage("--input", why, "give a payload that "+a.State+" allows"))
		}
	}
	return run, warnings, err
}

// startNewConversations removes the conversation of each state that names no agent, if the conversation
// belongs to an agent CLI other than the run's. Such a state begins a new conversation: a user who
// changes the agent of a run wants the new one to run these states. It returns a warning for each.
func startNewConversations(run *state.Run, s *scope.Scope) (warnings []string) {
	leave := func(held *state.Session, name string) {
		st, ok := s.Workflow.State(name)
		if !ok || held == nil || st.Policy.Backend != "" || held.BackendName() == run.Options.BackendName() {
			return
		}
		warnings = append(warnings, fmt.Sprintf("%s: the earlier conversation belongs to the agent %s; the agent %s begins a new one", name, held.BackendName(), run.Options.BackendName()))
		run.ForgetConversations(func(id string) bool { return id == held.ID })
	}
	for _, a := range run.Agents {
		if a.Backend == "" {
			leave(a.Session, a.State)
		}
		for _, f := range a.Stack {
			leave(f.Session, f.State)
		}
	}
	return warnings
}
