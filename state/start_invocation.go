package state

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// Plan selects the conversation for an agent's next invocation, and the way in which it is used.
type Plan struct {
	Mode    SessionMode // "" for scripts
	Backend string      // the agent CLI; "" for scripts
	// Session is the conversation to resume or to copy. It is nil if Mode is Fresh.
	Session *Session
	// Cut is the length to which the transcript of a resumed conversation must be cut before the
	// invocation. If it is nil, the transcript stays unchanged, and its length must be recorded.
	Cut *int64
	// FailureReason is the reason why the agent can't continue; it is empty if the agent can. Note
	// is a message for users about the conversation; it may be empty.
	FailureReason, Note string
}

// Plan returns the plan for the agent's next invocation in the state st. If the state is a prompt, cli
// runs it. Plan follows the table of tags in docs/language.md.
func (a *Agent) Plan(st *protocol.State, cli CLI) Plan {
	p := a.wantedPlan(st)
	if p.Mode == "" {
		return p
	}
	p.Backend = cli.Name
	// The first prompt of a follow-up may use another agent CLI than the conversation of the previous run.
	followsUp := a.Branch && len(a.Stack) == 0
	if followsUp && p.Mode == Branch && p.Session.BackendName() != cli.Name {
		return Plan{Mode: Fresh, Backend: cli.Name, Note: fmt.Sprintf(
			"the previous conversation belongs to the agent %s, so the agent %s begins a new one in the state %s", p.Session.BackendName(), cli.Name, st.Name)}
	}
	if p.Session == nil {
		// Even a fresh attempt must use the agent CLI to which the agent's conversation belongs.
		p.Session = a.Session
	}
	return cli.limit(p, st.Name, a.Branch && !followsUp)
}

// wantedPlan returns the plan that the state requests. It ignores the abilities of the agent CLI.
func (a *Agent) wantedPlan(st *protocol.State) Plan {
	e := a.Exec
	if st.Kind == protocol.Script || (e != nil && e.Phase == PhaseVerify) {
		return Plan{}
	}
	c := st.Policy.Convergence
	if e != nil && e.Session != nil && (e.Reminder != "" || e.Continue || c != nil && c.AttemptContext == contextContinue && e.Attempt > 1) {
		return Plan{Mode: Resume, Session: e.Session, Cut: e.Cut}
	}
	switch {
	case a.Session == nil, c != nil && c.AttemptContext == contextFresh:
		return Plan{Mode: Fresh}
	case a.Branch, c != nil:
		return Plan{Mode: Branch, Session: a.Session}
	case e != nil && e.Cut != nil:
		return Plan{Mode: Resume, Session: a.Session, Cut: e.Cut}
	}
	return Plan{Mode: Resume, Session: a.Session, Cut: a.Cut}
}

// Launch contains the parameters with which an agent's next invocation starts.
type Launch struct {
	State     *protocol.State
	Plan      Plan
	SessionID string // Fresh and Branch: a new id; Resume: the id of the resumed conversation
	// Length is the length of a resumed conversation's transcript after it was cut. It is nil for a
	// new conversation.
	Length *int64
	Cwd    string
	// Protected maps each protected file to its digest. It is used only in the first invocation of
	// an execution.
	Protected map[string]string
}

// Start marks an agent as running, emits StateStarted if its execution begins, and returns the agent.
// The step must be saved before the process starts. If the plan has a FailureReason, the agent fails
// instead.
func (s *Step) Start(id string, l Launch) *Agent {
	a, now := s.edit(id), stamp(s.now)
	if l.Plan.FailureReason != "" {
		a.NotBefore, a.Wait = time.Time{}, 0
		s.continueAgent(a, l.State, func(x *execution) {
			x.fail(Fatal, l.Plan.FailureReason, Outcome{Process: Process{ExitCode: -1}})
		})
		return a
	}
	s.delta.Progress.Launches++
	restart := a.Exec == nil || a.Exec.Inherited || (a.Exec.Interrupted != "" &&
		a.Exec.Phase == PhaseAgent && a.Exec.Reminder == "" && !a.Exec.Continue && a.Exec.Attempt == 1)
	if a.Exec == nil {
		p := &s.delta.Progress
		p.Iterations++
		p.LastBegun = a.N
		if !slices.Contains(s.run.Used, a.State) && !slices.Contains(s.delta.Used, a.State) {
			// A resume stops with an error if a file in Used has changed.
			s.delta.Used = append(s.delta.Used, a.State)
		}
		a.Exec = &Exec{Iteration: p.Iterations, Attempt: 1, Phase: PhaseAgent, Protected: l.Protected}
		if l.Plan.Mode == Resume {
			a.Exec.EntryLen = l.Length
		}
	}
	e := a.Exec
	if restart {
		e.Started = now
	}
	if e.AttemptStarted.IsZero() {
		e.AttemptStarted = now
	}
	e.Running = l.invocation(s.delta.Progress.Launches, a, s.Options())
	if e.Interrupted != "" {
		e.Interrupted, e.WasInterrupted = "", true
	}
	e.Cut, e.Inherited, a.Cut = nil, false, nil
	a.Status, a.NotBefore, a.Wait = Busy, time.Time{}, 0
	if restart {
		cwd := l.Cwd
		if l.State.Trusted {
			cwd = ""
		}
		s.emit(a, &StateStarted{
			Kind: string(l.State.Kind), Attempt: e.Attempt, Session: e.Running.Mode,
			SessionID: e.Running.SessionID, Model: e.Running.Model, Cwd: cwd, Backend: l.Plan.Backend,
		})
	}
	return a
}

// RecordProgress records data about an agent's running invocation, so that a crash does not lose it:
// the tokens used so far, and the CLI's own id of the conversation. If used is nil or cliID is "", the
// current value stays.
func (s *Step) RecordProgress(id string, used []Usage, cliID string) {
	e := s.edit(id).Exec
	if e == nil || e.Running == nil {
		return
	}
	running := *e.Running
	if used != nil {
		running.Metered = used
	}
	if ValidSession(cliID) && cliID != running.SessionID {
		running.CLIID = cliID
	}
	e.Running = &running
}

// invocation returns the Invocation with the number n for the agent a.
func (l Launch) invocation(n int, a *Agent, options *Options) *Invocation {
	i := &Invocation{N: n}
	if l.Plan.Mode != "" {
		i.Mode, i.SessionID, i.Length, i.Model = l.Plan.Mode, l.SessionID, l.Length, l.Plan.Model(a, l.State, options)
		i.Backend = l.Plan.Backend
	}
	switch from := l.Plan.Session; l.Plan.Mode {
	case Resume:
		i.CLIID = from.CLIID
	case Branch:
		i.From, i.FromCLIID = from.ID, from.CLIID
	}
	return i
}

// Model returns the name of the model to request in a state. If it is "", the agent CLI chooses. The
// model in options applies only to the run's default agent CLI.
func (p Plan) Model(a *Agent, st *protocol.State, options *Options) string {
	ofRun := options.Model
	if p.Backend != options.BackendName() {
		ofRun = ""
	}
	if m := cmp.Or(a.Model, st.Policy.Model, ofRun); m != "" {
		return m
	}
	if from := p.Session; from != nil && from.Chosen {
		return from.Model
	}
	return ""
}
