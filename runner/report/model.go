package report

import (
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
		m.resetFailedAgents()
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

// resetFailedAgents marks failed agents as running, since a resumed run tries their states again.
// It does nothing if the run was suspended and an agent waits for something other than agents,
// because the run is resumed to end that wait.
func (m *Model) resetFailedAgents() {
	if m.Ending != nil && m.Ending.Status == state.Suspended &&
		slices.ContainsFunc(m.openWaits(), func(w Wait) bool { return w.For != state.ForAgents }) {
		return
	}
	for _, a := range m.Agents {
		if a.Status == Failed {
			a.Status, a.Error = Running, ""
		}
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
		a.setTransition(b)
		x := m.execOf(e, a)
		if x != nil {
			x.addTransition(b)
		}
		m.countTransition(x, b)
	case *state.AgentFinished:
		a.finish(e, b)
	case *state.AgentWaits:
		a.State, a.Status = e.State, statusWaiting
		if x := a.last; x.isOpen() {
			x.work.pause(e.Time)
		}
	case *state.AgentGoesOn:
		m.countTimeout(a, e.State)
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
		a.log.addLine(output.Text)
	}
	x := m.execOf(e, a)
	if x == nil {
		return
	}
	if _, isCut := e.Body.(*state.AttemptInterrupted); !isCut {
		x.work.resume(m.segmentStart())
	}
	if isOutput && !m.isLive {
		x.Output = append(x.Output, output.Text)
	}
	if b, isJudged := e.Body.(*state.NodeAttempt); isJudged {
		m.attempts[x.State]++
		m.spent = m.spent.Plus(b.Spent)
		a.setOpenCost(x.Spent.Spent.Plus(b.Spent), x.Models)
	}
	if x.addEvent(e) {
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
		a = &Agent{ID: e.Agent, State: e.State, Status: Running, log: agentLog{toolUses: map[string]int{}}}
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
	x.start(b)
}

// finishExec records the end of an execution, and adds its cost to the totals.
func (m *Model) finishExec(e state.Event, b *state.StateFinished, a *Agent) {
	m.spent = m.spent.Plus(b.Spent.Minus(a.openExec().costSoFar()))
	spent := Spent{b.Spent, b.Tokens}
	a.ended = a.ended.Plus(spent)
	if b.CLI != "" {
		m.CLI = b.CLI
	}
	a.log.addRefusals(b.AllRefusals())
	requested, ms := "", b.DurationMS
	if x := m.execOf(e, a); x.isOpen() { // x is not open if the state failed before it started
		x.work.resume(m.segmentStart())
		x.finish(e, b)
		x.Total = m.total().USD
		requested, ms = x.Model, x.DurationMS
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
		if x := a.openExec(); x != nil {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *Exec) int { return a.N - b.N })
	return all
}
