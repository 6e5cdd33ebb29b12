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
	isUnknown := p.Session != nil && !cli.AcceptsSessionID && p.Session.CLIID == ""
	switch owner := p.Session.BackendName(); {
	case p.Session == nil:
	case owner != cli.Name:
		p.FailureReason = fmt.Sprintf("the state %s is run by the agent %s, but the conversation that continues there belongs to the agent %s; "+
			"reach the state by <reset>, <function> or <fork>, or let the same agent run both states", st.Name, cli.Name, owner)
	case a.Branch && !followsUp && p.Mode == Branch && isUnknown:
		p.FailureReason = fmt.Sprintf("the state %s was reached by <call>, which branches the conversation of the caller, but the agent %s can't branch it, because it reported no session id; "+
			"use <function> instead", st.Name, cli.Name)
	case p.Mode != Fresh && isUnknown:
		return Plan{Mode: Fresh, Backend: cli.Name, Note: fmt.Sprintf(
			"the agent %s can't continue its conversation, because it reported no session id: the state %s begins a new one", cli.Name, st.Name)}
	}
	if p.Mode == Fresh {
		p.Session = nil
	}
	return p
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
	if e.AttemptStarted.IsZero() {
		e.AttemptStarted = now
	}
	e.Running = &Invocation{N: s.delta.Progress.Launches}
	if i := e.Running; l.Plan.Mode != "" {
		i.Mode, i.SessionID, i.Length, i.Model = l.Plan.Mode, l.SessionID, l.Length, l.Plan.Model(a, l.State, s.Options())
		i.Backend = l.Plan.Backend
	}
	switch from := l.Plan.Session; l.Plan.Mode {
	case Resume:
		e.Running.CLIID = from.CLIID
	case Branch:
		e.Running.From, e.Running.FromCLIID = from.ID, from.CLIID
	}
	if e.Interrupted != "" {
		e.Interrupted, e.WasInterrupted = "", true
	}
	e.Cut, e.Inherited, a.Cut = nil, false, nil
	a.Status, a.NotBefore, a.Wait = Busy, time.Time{}, 0
	if restart {
		e.Started = now
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

// CLI describes the properties of an agent CLI that matter for conversations.
type CLI struct {
	Name string // an element of protocol.Backends
	// AcceptsSessionID is set if a new conversation gets the id that raymond chose. Otherwise the CLI
	// chooses the id, and may report it or not.
	AcceptsSessionID bool
}

// BackendFor returns the name of the agent CLI that runs the agent's next prompt in the state st. It tries
// the following in this order: the CLI named by the agent's function tag, the CLI named by the state, the
// CLI of the agent's conversation, and the run's default.
func (a *Agent) BackendFor(st *protocol.State, o *Options) string {
	held := a.Session
	if a.Exec != nil && a.Exec.Session != nil {
		held = a.Exec.Session
	}
	return cmp.Or(a.Backend, st.Policy.Backend, held.BackendName(), o.BackendName())
}

// BackendName returns the name of the run's default agent CLI.
func (o *Options) BackendName() string { return cmp.Or(o.Backend, protocol.DefaultBackend) }

// BackendName returns the name of the agent CLI to which the conversation belongs. It returns "" if s is
// nil.
func (s *Session) BackendName() string {
	if s == nil {
		return ""
	}
	return cmp.Or(s.Backend, protocol.DefaultBackend)
}

// BackendName returns the name of the agent CLI that the invocation runs.
func (i *Invocation) BackendName() string { return cmp.Or(i.Backend, protocol.DefaultBackend) }
