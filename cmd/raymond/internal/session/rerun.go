package session

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/state"
)

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
	return run, warnings, errors.Join(err, setInput(o, s, run, at.Agent))
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

// setInput replaces the payload of the agent's state if the flag --input or --input-file is set.
func setInput(o *options.Options, s *scope.Scope, run *state.Run, agent string) error {
	a, ok := run.Agent(agent)
	if !ok || !o.IsGiven("input") && !o.IsGiven("input-file") {
		return nil
	}
	a.Payload = state.Text(o.Input + o.InputFile)
	if why := s.Workflow.CheckInput(a.State, string(a.Payload)); why != "" {
		return problem.Usage("--input", why, "give a payload that "+a.State+" allows")
	}
	return nil
}
