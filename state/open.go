package state

import (
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// mainAgent is the name of the first agent of a run.
const mainAgent = "main"

// New returns a run with one agent, ready in the run's entry state. The caller
// has filled in everything of r that a workflow and its options decide.
func New(r Run, input string, now time.Time) *Run {
	r.Schema = Schema
	r.Created = now.UTC().Truncate(time.Millisecond)
	r.Progress = Progress{Status: Running, Started: r.Created, Created: 1}
	r.Agents = []*Agent{{ID: mainAgent, N: 1, State: r.Entry, Status: Ready, Payload: Text(input)}}
	return &r
}

// Lost returns what a lost invocation is known to have used, at list prices where
// there are any: nil when nothing came from the model. It is called with the agent
// that ran it.
type Lost func(a *Agent) []ModelCost

// Open begins the run, or goes on with it after a stop or a crash: agents that
// were cut off are marked for a re-run, failed ones try again, holds end.
func (s *Step) Open(resumed bool, lost Lost) {
	p := &s.d.Progress
	p.Status, p.Reason, p.Until, p.Hold, p.Exhausted = Running, "", time.Time{}, "", false
	p.Unknown = 0
	if p.Counter == 0 {
		p.Counter = s.run.counter()
	}
	s.skip(s.rested())
	p.Started = s.now.UTC().Truncate(time.Millisecond)
	s.emit(nil, &RunStarted{
		Scope: s.run.Scope, Entry: s.run.Entry, Resumed: resumed,
		BudgetUSD: s.Options().BudgetUSD, MaxParallel: s.Options().MaxParallel,
	})
	s.each(func(a *Agent) bool {
		switch {
		case !resumed:
			s.emit(a, &AgentStarted{})
		case a.Status == Busy:
			s.interrupt(s.edit(a.ID), lost)
		case a.Status == Stuck:
			s.revive(s.edit(a.ID))
		case a.NotBefore.After(s.now.Add(time.Duration(a.Wait))):
			s.pause(s.edit(a.ID), time.Duration(a.Wait))
		}
		if resumed && (a.Unknown > 0 || a.Outage != nil) {
			mine := s.edit(a.ID) // both are of one process
			mine.Unknown, mine.Outage = 0, nil
		}
		return true
	})
}

// rested is how long nobody has driven the run, as far as its last events tell.
func (s *Step) rested() time.Duration {
	if len(s.run.Events) == 0 {
		return 0
	}
	return max(0, s.now.Sub(s.run.Events[len(s.run.Events)-1].Time))
}

// skip leaves a time out of that of the executions under way: between two jobs
// nobody works.
func (s *Step) skip(rest time.Duration) {
	s.each(func(a *Agent) bool {
		if a.Exec == nil || a.Exec.Started.IsZero() || rest == 0 {
			return true
		}
		e := s.edit(a.ID).Exec
		e.Started = e.Started.Add(rest)
		if !e.AttemptStarted.IsZero() {
			e.AttemptStarted = e.AttemptStarted.Add(rest)
		}
		return true
	})
}

// Override replaces the options of the run by what the flags of a resume say,
// and the hashes of its files by those of the workflow as it is now.
func (s *Step) Override(o Options, files map[string]string) {
	s.d.Options, s.d.Files = &o, files
	if o.BudgetUSD != s.run.Options.BudgetUSD {
		s.d.Progress.Warned = false
	}
}

// Options returns the options in force. They must not be changed.
func (s *Step) Options() *Options {
	if s.d.Options != nil {
		return s.d.Options
	}
	return &s.run.Options
}

// interrupt makes an agent that was cut off ready for a re-run.
func (s *Step) interrupt(a *Agent, lost Lost) {
	e := a.Exec
	if e.Interrupted == "" {
		e.Interrupted = "the orchestrator died"
	}
	if e.Running != nil && e.Running.Mode != "" {
		used := lost(a)
		s.book(a, Outcome{Session: e.Running.SessionID, Used: used, Cost: Cost{Silent: used == nil}})
	}
	e.undo()
	a.Status = Ready
	s.emit(a, &AttemptInterrupted{Attempt: e.Attempt, Reason: e.Interrupted})
}

// undo forgets the invocation under way: the next one cuts its transcript back.
func (e *Exec) undo() {
	if e.Running != nil && e.Running.Length != nil {
		e.Cut = e.Running.Length
	}
	e.Running = nil
}

// revive lets a failed agent try its state again, as a new execution.
func (s *Step) revive(a *Agent) {
	a.Status, a.Fault, a.NotBefore, a.Wait = Ready, nil, time.Time{}, 0
	switch e := a.Exec; {
	case e == nil: // it failed between two states
	case e.Continue:
		e.Retries = 0
	case e.Passed != nil && e.Reminder != "" && e.Session != nil: // only a move is missing
		e.Retries, e.Reminders = 0, 0
	default:
		a.Cut, a.Exec = e.EntryLen, nil
	}
	if e := a.Exec; e != nil {
		e.CostUSD, e.Estimated, e.Unknown, e.Models = 0, false, 0, nil // told when it failed
	}
}

// Plan says which conversation the next invocation of an agent is part of.
type Plan struct {
	Mode SessionMode // "" for scripts
	// Session is the one to resume, or to branch from; nil for Fresh.
	Session *Session
	// Cut is the length to cut the transcript of a resumed session to; nil means
	// that its length now is the one to come back to.
	Cut *int64
}

// Plan returns the plan for the next invocation of agent a in a state of the
// given kind. The rule is the table of tags in the language page.
func (s *Step) Plan(a *Agent, st *protocol.State) Plan {
	e := a.Exec
	if st.Kind == protocol.Script || (e != nil && e.Phase == PhaseVerify) {
		return Plan{}
	}
	if e != nil && e.Session != nil && (e.Reminder != "" || e.Continue || carriesOn(e, st)) {
		return Plan{Mode: Resume, Session: e.Session, Cut: e.Cut}
	}
	c := st.Policy.Convergence
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

// Launch is what the owner found out for the next invocation of an agent.
type Launch struct {
	State     *protocol.State
	Plan      Plan
	SessionID string // Fresh and Branch: a new id; Resume: the id of the session
	// Length is the size of the transcript of a resumed session after the cut;
	// nil when there is none.
	Length *int64
	Cwd    string
	// Protected has a digest of each file that must not change; read when an
	// execution begins.
	Protected map[string]string
}

// Start marks agent id as running. It is saved before the process starts.
func (s *Step) Start(id string, l Launch) *Agent {
	a := s.edit(id)
	p := &s.d.Progress
	p.Launches++
	restart := a.Exec == nil || (a.Exec.Interrupted != "" && a.Exec.fromStart())
	if a.Exec == nil {
		p.Iterations++
		p.Turn = a.N
		a.Exec = &Exec{Iteration: p.Iterations, Attempt: 1, Phase: PhaseAgent}
		if l.Plan.Mode == Resume {
			a.Exec.EntryLen = l.Length
		}
		a.Exec.Protected = l.Protected
		s.use(a.State)
	}
	e := a.Exec
	if restart {
		e.Started = s.now.UTC().Truncate(time.Millisecond)
	}
	if e.AttemptStarted.IsZero() {
		e.AttemptStarted = s.now.UTC().Truncate(time.Millisecond)
	}
	e.Running = &Invocation{N: p.Launches}
	if l.Plan.Mode != "" {
		e.Running.Mode, e.Running.SessionID, e.Running.Length = l.Plan.Mode, l.SessionID, l.Length
		e.Running.Model = s.model(a, l)
		if l.Plan.Mode == Branch {
			e.Running.From = l.Plan.Session.ID
		}
	}
	if e.Interrupted != "" {
		e.Interrupted, e.Noted = "", true
	}
	e.Cut, a.Cut = nil, nil
	a.Status, a.NotBefore, a.Wait = Busy, time.Time{}, 0
	if restart {
		s.emit(a, &StateStarted{
			Kind: string(l.State.Kind), Attempt: e.Attempt, Session: e.Running.Mode,
			SessionID: e.Running.SessionID, Model: e.Running.Model, Cwd: l.Cwd, Iteration: e.Iteration,
		})
	}
	return a
}

// fromStart reports whether the next invocation sends the state's prompt, not
// something that goes on with an answer to it.
func (e *Exec) fromStart() bool {
	return e.Phase == PhaseAgent && e.Reminder == "" && !e.Continue && e.Attempt == 1
}

// model picks the model to ask for; "" leaves the choice to the agent CLI.
func (s *Step) model(a *Agent, l Launch) string {
	for _, m := range []string{a.Model, l.State.Policy.Model, s.Options().Model} {
		if m != "" {
			return m
		}
	}
	if from := l.Plan.Session; from != nil && from.Chosen {
		return from.Model
	}
	return ""
}

// use notes that a state's file has been used, so that a resume can refuse to go
// on with a changed one.
func (s *Step) use(name string) {
	for _, list := range [][]string{s.run.Used, s.d.Used} {
		for _, u := range list {
			if u == name {
				return
			}
		}
	}
	s.d.Used = append(s.d.Used, name)
}

// abbrev is the part of a forked agent's name that tells its first state.
func abbrev(state string) string {
	name := strings.ToLower(strings.TrimSuffix(state, extension(state)))
	out := []rune{}
	for _, r := range name {
		if len(out) == 6 {
			break
		}
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			r = '_'
		}
		out = append(out, r)
	}
	return string(out)
}

// extension returns the last dot of a state file's name and what follows it.
func extension(file string) string {
	if i := strings.LastIndexByte(file, '.'); i >= 0 {
		return file[i:]
	}
	return ""
}
