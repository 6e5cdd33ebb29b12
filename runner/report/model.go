package report

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

// Model contains everything that is known about a run from its events and its state. The console,
// the job log, the summary and the report all display a Model. It is not safe for concurrent use.
type Model struct {
	Now            time.Time          `json:"now"`              // time of the last event
	Opening        *state.RunStarted  `json:"opening"`          // start of the last segment
	Ending         *state.RunFinished `json:"ending,omitempty"` // nil while the run is active
	Segments       []Segment          `json:"parts"`
	Agents         []*Agent           `json:"agents"` // in the order of their first event
	ExecutionCount int                `json:"begun"`  // number of state executions that have started
	Executions     []*Exec            `json:"executions"`
	// Waits are the current and the past waits, in the order in which they were added. Wait.To is
	// zero if the end of the wait is not known yet.
	Waits    []Wait            `json:"waits"`
	Limits   []Limit           `json:"limits"`
	Stored   *state.Checkpoint `json:"stored,omitempty"`
	StoredAt time.Time         `json:"stored_at,omitzero"`
	// NotStored is the newest checkpoint of this segment, if it could not be stored.
	NotStored *state.Checkpoint `json:"not_stored,omitempty"`
	// CLI is the version and the path of the agent CLI that ran last. The CLI's name comes before
	// them, except for the default agent CLI.
	CLI string `json:"cli,omitempty"`

	seq          int  // number of the last event
	endedWait    Wait // wait of the last event's agent before that event; zero if the agent did not wait
	agents       map[string]*Agent
	waiting      map[string]int // index in Waits of the current wait, by agent
	spent        state.Spent
	spentAtLimit state.Spent // cost of the run in the last event about the budget
	byAgent      sums
	byState      sums
	byModel      sums

	attempts map[string]int // number of done_when verdicts, by state
	moves    map[diagram.Move]int
	isLive   bool // set by NewLiveModel: only the first and the last executions are stored
}

// NewModel returns an empty Model.
func NewModel() *Model {
	return &Model{agents: map[string]*Agent{}, waiting: map[string]int{}, byAgent: sums{}, byState: sums{}, byModel: sums{}, attempts: map[string]int{}, moves: map[diagram.Move]int{}}
}

// NewLiveModel returns an empty Model for a run that this process drives. To limit its size, it
// stores only the executions that the summary's table shows.
func NewLiveModel() *Model {
	m := NewModel()
	m.isLive = true
	return m
}

// Resume adds data from the saved state of a run that is about to be resumed: its waits, its cost,
// and its open executions. Executions that no event has reported are added as paused.
func (m *Model) Resume(run *state.Run) {
	waits := WaitsOf(run)
	for _, w := range waits {
		if m.currentWait(w.Agent).For == "" {
			m.beginWait(w)
		}
	}
	m.SetWaitDetails(waits)
	m.spent = run.Spent()
	for _, s := range run.Agents {
		if s.Exec == nil || s.Status == state.Stuck {
			continue
		}
		before := m.Last(s.ID)
		m.addAgentState(s, func(text string) string { return text })
		if x := m.Last(s.ID); x != before {
			x.work.isPaused = true
		}
	}
}

const (
	maxFirst = 50  // number of first executions that a live model stores
	maxLast  = 150 // number of last executions that a live model stores

	// maxOutputs is the number of newest executions whose output is kept. The output of older
	// executions is removed, so that even a very long run fits into memory.
	maxOutputs = 2000
)

// AddAll adds recorded events. It stops at the first error and returns it.
func (m *Model) AddAll(events iter.Seq2[state.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		m.Add(e)
	}
	return nil
}

// Add adds the next event. It ignores an event that was already added, and an event with a lower
// number than the last one.
func (m *Model) Add(e state.Event) {
	if e.Seq > 0 && e.Seq <= m.seq {
		return
	}
	m.seq, m.endedWait = max(m.seq, e.Seq), m.currentWait(e.Agent)
	last := m.Now
	if e.Time.After(last) {
		m.Now = e.Time
	}
	if b, ok := e.Body.(*state.Limit); ok {
		m.Limits = append(m.Limits, Limit{e.Time, e.Exec, *b})
		if b.Which == "budget" {
			m.spentAtLimit = b.Spent()
		}
	}
	if e.Agent != "" {
		m.addAgentEvent(e, m.agentOf(e))
		return
	}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		m.EndLostSegment(last)
		// A resumed run tries failed states again, unless it is resumed to end the wait of an agent.
		isForWait := m.Ending != nil && m.Ending.Status == state.Suspended &&
			slices.ContainsFunc(m.openWaits(), func(w Wait) bool { return w.For != state.ForAgents })
		for _, a := range m.Agents {
			if a.Status == Failed && !isForWait {
				a.Status, a.Error = Running, ""
			}
		}
		m.Opening, m.Ending, m.NotStored = b, nil, nil
		m.Segments = append(m.Segments, Segment{Started: e.Time})
	case *state.RunFinished:
		m.endSegment(e, b)
	case *state.Checkpoint:
		if b.Error != "" {
			m.NotStored = b
		} else {
			m.Stored, m.StoredAt, m.NotStored = b, e.Time, nil
		}
	}
}

// endSegment records the end of a segment: the status and the cost of the run, and the cost of
// executions that have not ended.
func (m *Model) endSegment(e state.Event, b *state.RunFinished) {
	ending := *b
	ending.Reason = state.WithoutCode(b.Reason)
	m.Ending = &ending
	if len(m.Segments) == 0 {
		m.Segments = []Segment{{Started: e.Time}}
	}
	p := &m.Segments[len(m.Segments)-1]
	p.Ended, p.Status, p.Reason, p.DurationMS = e.Time, string(b.Status), ending.Reason, b.DurationMS
	m.spent, m.spentAtLimit = b.Spent, state.Spent{}
	for _, a := range m.Agents {
		a.setOpenCost(state.Spent{}, nil)
	}
	for i := range b.Unfinished {
		if a := m.agents[b.Unfinished[i].Agent]; a != nil {
			a.setOpenCost(b.Unfinished[i].Spent, b.Unfinished[i].Models)
		}
	}
	m.pause(m.Now)
}

// EndLostSegment marks the last segment as interrupted if no event has reported its end, as when
// its process was killed.
func (m *Model) EndLostSegment(at time.Time) {
	if n := len(m.Segments); n > 0 && m.Segments[n-1].Status == "" {
		p := &m.Segments[n-1]
		p.Ended, p.Status, p.DurationMS = at, Interrupted, max(0, at.Sub(p.Started)).Milliseconds()
		m.pause(at)
	}
}

// pause stops the stopwatches of all open executions, because the run stopped at the given time.
func (m *Model) pause(at time.Time) {
	for _, x := range m.openExecs() {
		x.work.pause(at)
	}
}

// addAgentEvent adds an event about the agent a.
func (m *Model) addAgentEvent(e state.Event, a *Agent) {
	m.addWaitEvent(e)
	switch b := e.Body.(type) {
	case *state.AgentStarted:
		a.Parent, a.State, a.Vars = b.Parent, e.State, b.Vars
	case *state.StateStarted:
		m.startExec(e, b, a)
	case *state.StateFinished:
		m.finishExec(e, b, a)
	case *state.Transition:
		m.addTransition(e, b, a)
	case *state.AgentFinished:
		if b.Error != "" {
			a.fail(e, b.Error)
			return
		}
		a.Status = statusEnded
		if b.Result != nil {
			a.Result, a.hasResult = string(*b.Result), true
		}
	case *state.AgentWaits:
		a.State, a.Status = e.State, statusWaiting
		if x := a.last; x.isOpen() {
			x.work.pause(e.Time)
		}
	case *state.AgentGoesOn:
		// If a question has timed out, the agent's last transition, to the state that would have received
		// the answer, is replaced with a transition to the state for the timeout.
		if m.endedWait.For == state.ForAnswer && m.endedWait.State != e.State && a.transition != nil {
			question := diagram.Move{From: a.transition.From, To: m.endedWait.State, Kind: diagram.Ask}
			if m.moves[question]--; m.moves[question] <= 0 {
				delete(m.moves, question)
			}
			m.moves[diagram.Move{From: a.transition.From, To: e.State, Kind: diagram.TimedOut}]++
		}
		a.State, a.Status = e.State, Running
	default:
		m.addExecEvent(e, a)
	}
}

// addExecEvent adds an event within an execution. An event shows that the run continues a paused
// execution, so the execution's stopwatch is started again. The exception is an event about an
// interrupted attempt.
func (m *Model) addExecEvent(e state.Event, a *Agent) {
	output, isOutput := e.Body.(*state.AgentOutput)
	if isOutput && m.isLive {
		a.addLine(output.Text)
	}
	x := m.execOf(e, a)
	if x == nil {
		return
	}
	if _, isCut := e.Body.(*state.AttemptInterrupted); !isCut {
		x.work.resume(m.segmentStart())
	}
	isAgain := false // a retry, or the verdict on any attempt after the first
	switch b := e.Body.(type) {
	case *state.AgentOutput:
		if !m.isLive {
			x.Output = append(x.Output, b.Text)
		}
	case *state.Reminder:
		x.Reminders = append(x.Reminders, TimedNote{Time: e.Time, Text: b.Reason})
	case *state.Retry:
		x.Retries = append(x.Retries, TimedNote{Time: e.Time, Text: b.Error, BackoffMS: b.BackoffMS})
		if b.Service {
			x.serviceRetries++
		}
		isAgain = true
	case *state.NodeAttempt:
		m.attempts[x.State]++
		m.spent = m.spent.Plus(b.Spent)
		a.setOpenCost(x.Spent.Spent.Plus(b.Spent), x.Models)
		x.Attempts = append(x.Attempts, Attempt{Ended: e.Time, NodeAttempt: *b})
		x.attempt = b.Attempt
		isAgain = len(x.Attempts) > 1
	case *state.AttemptInterrupted:
		x.Interruptions = append(x.Interruptions, Interruption{e.Time, *b})
	}
	if isAgain {
		m.byAgent.of(a.ID).Retries++
		m.byState.of(x.State).Retries++
	}
}

// segmentStart returns the start of the current segment.
func (m *Model) segmentStart() (at time.Time) {
	if n := len(m.Segments); n > 0 {
		at = m.Segments[n-1].Started
	}
	return at
}

// agentOf returns the agent of an event. It adds the agent to the model if necessary.
func (m *Model) agentOf(e state.Event) *Agent {
	a := m.agents[e.Agent]
	if a == nil {
		a = &Agent{ID: e.Agent, State: e.State, Status: Running, toolUses: map[string]int{}}
		m.agents[e.Agent] = a
		m.Agents = append(m.Agents, a)
	}
	return a
}

// execOf returns the execution that an event belongs to: the agent's newest execution, or a new one
// if no event has reported its start. If the agent's open execution in the event's state has another
// number, it gets the event's number, since a resume may have changed the number. For an event
// without a number, execOf returns the agent's newest execution, which may be nil.
func (m *Model) execOf(e state.Event, a *Agent) *Exec {
	x := a.last
	switch {
	case e.Exec == 0 || x != nil && x.N == e.Exec:
	case x.isOpen() && x.State == e.State:
		x.N = e.Exec
	default:
		x = m.newExec(e, a)
	}
	return x
}

// Last returns the newest execution of an agent, or nil if the agent has not started any.
func (m *Model) Last(agent string) *Exec {
	if a := m.agents[agent]; a != nil {
		return a.last
	}
	return nil
}

// newExec adds an execution. It also removes the output of an execution that is no longer among the
// newest maxOutputs. If a live model has too many executions, newExec removes the first one after
// the first maxFirst.
func (m *Model) newExec(e state.Event, a *Agent) *Exec {
	m.ExecutionCount++
	x := &Exec{N: e.Exec, Agent: e.Agent, State: e.State, Status: Running, Started: e.Time, work: stopwatch{resumed: e.Time}}
	if x.N == 0 {
		x.N = m.ExecutionCount
	}
	a.last = x
	a.Executions++
	m.byAgent.of(a.ID).Executions++
	m.byState.of(x.State).Executions++
	m.Executions = append(m.Executions, x)
	if old := len(m.Executions) - maxOutputs; old > 0 {
		x := m.Executions[old-1]
		x.Output, x.Stdout, x.Stderr, x.IsCut = nil, "", "", true
		for i := range x.Attempts {
			for j := range x.Attempts[i].Results {
				x.Attempts[i].Results[j].Tail, x.Attempts[i].Results[j].Truncated = "", true
			}
		}
	}
	if m.isLive && len(m.Executions) > maxFirst+maxLast {
		m.Executions = slices.Delete(m.Executions, maxFirst, maxFirst+1)
	}
	return x
}

// startExec records the start of an execution. If a resume repeats an execution that was
// interrupted in an earlier segment, no execution is added.
func (m *Model) startExec(e state.Event, b *state.StateStarted, a *Agent) {
	a.State, a.Status = e.State, Running
	x := a.last
	if x.isOpen() && x.State == e.State && (x.work.isPaused || e.Exec > 0 && x.N == e.Exec) {
		x.work.pause(e.Time)
		x.work.resume(e.Time)
		x.work.isRepeated = true
		x.N = max(x.N, e.Exec) // joining the parts of a matrix may have increased the number
	} else {
		a.Error, a.Result, a.hasResult = "", "", false
		x = m.newExec(e, a)
		x.attempt = b.Attempt
	}
	x.Kind, x.Mode, x.SessionID, x.Model, x.Cwd = b.Kind, string(b.Session), b.SessionID, b.Model, b.Cwd
	x.Backend = cmp.Or(b.Backend, x.Backend)
}

// finishExec records the end of an execution, and adds its cost to the totals.
func (m *Model) finishExec(e state.Event, b *state.StateFinished, a *Agent) {
	var known state.Spent // cost that is already in m.spent
	if a.last.isOpen() {
		known = a.last.Spent.Spent
	}
	m.spent = m.spent.Plus(b.Spent.Minus(known))
	spent := Spent{b.Spent, b.Tokens}
	a.ended = a.ended.Plus(spent)
	m.CLI = cmp.Or(b.CLI, m.CLI)
	for _, r := range b.AllRefusals() {
		switch {
		case slices.ContainsFunc(a.refusals, func(x state.Refusal) bool { return x.Use == r.Use }):
		case len(a.refusals) == maxRefused:
			a.unlisted++
		default:
			a.refusals = append(a.refusals, r)
		}
	}
	requested, ms := "", b.DurationMS
	if x := m.execOf(e, a); x.isOpen() { // x is not open if the state failed before it started
		x.work.resume(m.segmentStart())
		if x.work.isRepeated {
			ms += x.work.worked.Milliseconds()
		}
		x.Status, x.Ended, x.Error, x.DurationMS = Completed, e.Time, state.DescribeFailure(b.Error, x.lastVerdict()), ms
		x.isExhausted, x.attempt = state.IsExhausted(b.Error), max(x.attempt, b.Attempt)
		if !b.OK {
			x.Status = Failed
		}
		x.Spent, x.Models, x.Turns, x.AgentCLI, x.Total = spent, b.Models, b.Turns, b.CLI, m.total().USD
		x.SessionID = cmp.Or(b.SessionID, x.SessionID)
		x.Refusals, x.ExitCode, x.Signal = b.AllRefusals(), b.ExitCode, b.Signal
		x.Stdout, x.Stderr = b.StdoutTail, b.StderrTail
		requested = x.Model
	}
	if !b.OK && !state.IsExhausted(b.Error) { // otherwise, a later event shows whether the agent fails
		a.fail(e, b.Error)
	}
	m.byModel.addModels(spent, b.Models, requested, ms)
	a.Spent = a.ended
	for _, s := range []*Sum{m.byAgent.of(a.ID), m.byState.of(e.State)} {
		s.DurationMS += ms
		s.Spent = s.Spent.Plus(spent)
		if !b.OK {
			s.Failed++
		}
	}
}

// openExecs returns the executions that have not ended, ordered by number.
func (m *Model) openExecs() []*Exec {
	var all []*Exec
	for _, a := range m.Agents {
		if a.last.isOpen() {
			all = append(all, a.last)
		}
	}
	slices.SortFunc(all, func(a, b *Exec) int { return a.N - b.N })
	return all
}

// ModelOf builds the Model of a run from its events and its state. It does not change run. events may
// be nil. If events yields an error, ModelOf stops and returns that error. hide masks secrets in all
// texts; if it is nil, texts are not changed.
func ModelOf(run *state.Run, events iter.Seq2[state.Event, error], hide func(string) string) (*Model, error) {
	m := NewModel()
	if hide == nil {
		hide = func(text string) string { return text }
	}
	if events != nil {
		for e, err := range events {
			if err != nil {
				return nil, err
			}
			m.Add(e.Map(hide))
		}
	}
	for _, e := range run.Events { // after a crash, the log may lack these events
		m.Add(e.Map(hide))
	}
	for _, a := range run.Agents {
		m.addAgentState(a, hide)
	}
	for _, e := range run.Ended {
		if m.agents[e.Agent] != nil {
			continue // events have already reported the end of this agent
		}
		a := m.agentOf(state.Event{Agent: e.Agent})
		a.Parent, a.Status, a.Result, a.Error = e.Parent, statusEnded, hide(string(e.Result)), hide(e.Error)
		if a.Error != "" {
			a.Status = Failed
		}
	}
	return m, nil
}

// addAgentState adds data from the saved state of the run: about an agent that has not ended, and
// about its execution. Events may lack this data if the event log was started later than the run.
func (m *Model) addAgentState(s *state.Agent, hide func(string) string) {
	a := m.agentOf(state.Event{Agent: s.ID, State: s.State})
	a.Parent = s.Parent
	if a.Vars == nil {
		a.Vars = state.MapTexts(s.Vars, hide)
	}
	switch s.Status {
	case state.Stuck:
		a.Status = Failed
		if a.Error == "" && s.Failure != nil {
			a.Error = hide(s.FailureText())
		}
	case state.Waiting:
		a.Status = statusWaiting
	default:
		a.Status = Running
	}
	x, e := a.last, s.Exec
	switch {
	case e == nil:
		return
	case x.isOpen() && x.State == s.State:
		x.N = e.Iteration // joining the parts of a matrix may have changed the number
	case x == nil || x.N != e.Iteration:
		x = m.newExec(state.Event{Agent: s.ID, State: s.State, Exec: e.Iteration, Time: e.Started}, a)
		x.Kind, x.attempt = "script", e.Attempt
		if e.Session != nil || e.Running != nil && e.Running.SessionID != "" { // only prompts have a conversation
			x.Kind = "prompt"
		}
	case !x.isOpen():
		return
	}
	x.Turns, x.Spent.Tokens = e.Turns, e.Tokens
	a.setOpenCost(e.Spent, e.Models)
	if e.Session != nil {
		x.SessionID, x.Backend = cmp.Or(e.Session.ID, x.SessionID), e.Session.BackendName()
	}
	if e.Running != nil && e.Running.Mode != "" {
		x.Backend = e.Running.BackendName()
	}
}

// Rows returns copies of the executions, ordered by number. Open executions get the status
// Interrupted, unless isDriven is set because a process drives the run.
func (m *Model) Rows(isDriven bool) []Exec {
	all := make([]Exec, 0, len(m.Executions))
	for _, x := range m.Executions {
		one := *x
		if one.Status == Running && !isDriven {
			one.Status = Interrupted
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Exec) int { return cmp.Compare(a.N, b.N) })
	return all
}

// Path returns the path that the run has taken so far, for a diagram of its workflow.
func (m *Model) Path() *diagram.Path {
	p := &diagram.Path{States: map[string]int{}, Attempts: m.attempts, Moves: m.moves, IsOver: m.Ending != nil}
	for name, sum := range m.byState {
		p.States[name] = sum.Executions
	}
	for _, a := range m.Agents {
		if a.Status != statusEnded {
			p.Agents = append(p.Agents, diagram.Agent{State: a.State, IsFailed: a.Status == Failed, Waits: m.currentWait(a.ID).For})
		}
	}
	return p
}

// addTransition records an agent's transition, and counts it for the diagram. If one answer forks
// several agents, each fork is counted, and the move of their parent to its next state is counted
// once. A transition after a failed execution is counted as diagram.Exhausted, since the workflow,
// and not the agent, has chosen its target.
func (m *Model) addTransition(e state.Event, b *state.Transition, a *Agent) {
	a.transition = b
	if b.Tag == "fork" {
		a.State = b.Next
	} else if b.Target != "" {
		a.State = b.Target
	}
	x, isFirst := m.execOf(e, a), true
	if x != nil { // nil if no event has reported the execution
		x.Transition = b
		if x.transitionCount++; x.transitionCount > 1 {
			isFirst = false
		} else {
			x.firstTransition = b
		}
	}
	move := diagram.Move{From: b.From, To: b.Target, Kind: diagram.Kind(b.Tag)}
	switch {
	case move.Kind == diagram.Fork && isFirst:
		m.moves[diagram.Move{From: b.From, To: b.Next, Kind: diagram.Next}]++
	case move.Kind != diagram.Fork && x != nil && x.Status == Failed:
		move.Kind = diagram.Exhausted
	}
	m.moves[move]++
}
