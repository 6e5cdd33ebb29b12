package report

import (
	"iter"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

// Model is what is known of a run: what its events tell, and its state. All that people and
// programs are shown of a run is read from it. A Model is not safe for concurrent use.
type Model struct {
	Now            time.Time          `json:"now"`              // of the last event
	Opening        *state.RunStarted  `json:"opening"`          // of the last part
	Ending         *state.RunFinished `json:"ending,omitempty"` // nil while the run is active
	Segments       []Segment          `json:"parts"`
	Agents         []*Agent           `json:"agents"` // in the order in which they came
	ExecutionCount int                `json:"begun"`  // state executions
	Executions     []*Exec            `json:"executions"`
	Waits          []Wait             `json:"waits"` // in the order in which they began; they have a To when they have ended
	Limits         []Limit            `json:"limits"`
	Stored         *state.Checkpoint  `json:"stored,omitempty"`
	StoredAt       time.Time          `json:"stored_at,omitzero"`
	NotStored      *state.Checkpoint  `json:"not_stored,omitempty"` // since then, in this part
	CLI            string             `json:"cli,omitempty"`        // version and path of the agent CLI, after its name unless it is the default one that ran last

	seq     int  // of the last event
	ended   Wait // that the last event has ended; zero for none
	agents  map[string]*Agent
	waiting map[string]int // the index of the wait of each agent that waits
	spent   state.Spent
	atLimit state.Spent // as the last warning about the budget has it
	byAgent sums
	byState sums
	byModel sums

	attempts map[string]int // that commands judged, by state
	moves    map[diagram.Move]int
	isShort  bool // executions between the first and the last ones are only counted
}

// NewModel returns the Model of a run of which nothing is known yet.
func NewModel() *Model {
	return &Model{agents: map[string]*Agent{}, waiting: map[string]int{}, byAgent: sums{}, byState: sums{}, byModel: sums{}, attempts: map[string]int{}, moves: map[diagram.Move]int{}}
}

// NewLiveModel returns the Model of a run that is driven. It keeps the executions that a table
// shows, so that it stays small whatever the size of the run.
func NewLiveModel() *Model {
	m := NewModel()
	m.isShort = true
	return m
}

// Resume takes what a run that is about to be driven on has done before, as far as no event has
// told it: who waits, what was spent, and in which executions that are resumed.
func (m *Model) Resume(run *state.Run) {
	waits := WaitsOf(run)
	for _, w := range waits {
		if m.wait(w.Agent).For == "" {
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
		m.addState(s, func(text string) string { return text })
		if x := m.Last(s.ID); x != before {
			x.work.isPaused = true
		}
	}
}

const (
	maxFirst = 50  // executions from the first on in a short model
	maxLast  = 150 // executions up to the last

	maxOutputs = 2000 // executions up to the last that keep what programs wrote in them, so that a huge log fits into memory
)

// AddAll takes recorded events, up to their first error, which it returns.
func (m *Model) AddAll(events iter.Seq2[state.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		m.Add(e)
	}
	return nil
}

// Add takes the next event. One that comes again, as after a log was learned, has no effect.
func (m *Model) Add(e state.Event) {
	if e.Seq > 0 && e.Seq <= m.seq {
		return
	}
	m.seq, m.ended = max(m.seq, e.Seq), m.wait(e.Agent)
	last := m.Now
	if e.Time.After(last) {
		m.Now = e.Time
	}
	if b, ok := e.Body.(*state.Limit); ok {
		m.Limits = append(m.Limits, Limit{e.Time, e.Exec, *b})
		if b.Which == "budget" {
			m.atLimit = b.Spent()
		}
	}
	if e.Agent != "" {
		m.addAgent(e, m.agent(e))
		return
	}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		m.EndLostSegment(last)
		m.tryAgain()
		m.Opening, m.Ending, m.NotStored = b, nil, nil
		m.Segments = append(m.Segments, Segment{Started: e.Time})
	case *state.RunFinished:
		m.end(e, b)
	case *state.Checkpoint:
		if b.Error != "" {
			m.NotStored = b
		} else {
			m.Stored, m.StoredAt, m.NotStored = b, e.Time, nil
		}
	}
}

// end takes the end of a part of the run.
func (m *Model) end(e state.Event, b *state.RunFinished) {
	ending := *b
	ending.Reason = state.WithoutCode(b.Reason)
	m.Ending = &ending
	if len(m.Segments) == 0 {
		m.Segments = []Segment{{Started: e.Time}}
	}
	p := &m.Segments[len(m.Segments)-1]
	p.Ended, p.Status, p.Reason, p.DurationMS = e.Time, string(b.Status), ending.Reason, b.DurationMS
	m.spent, m.atLimit = b.Spent, state.Spent{}
	for _, a := range m.Agents {
		a.setUnfinished(state.Spent{}, nil)
	}
	for i := range b.Unfinished {
		if a := m.agents[b.Unfinished[i].Agent]; a != nil {
			a.setUnfinished(b.Unfinished[i].Spent, b.Unfinished[i].Models)
		}
	}
	m.pause(m.Now)
}

// EndLostSegment ends a part of the run whose process was lost, if the last one has no end.
func (m *Model) EndLostSegment(at time.Time) {
	if n := len(m.Segments); n > 0 && m.Segments[n-1].Status == "" {
		p := &m.Segments[n-1]
		p.Ended, p.Status, p.DurationMS = at, Interrupted, max(0, at.Sub(p.Started)).Milliseconds()
		m.pause(at)
	}
}

// pause marks what is active when the run stops.
func (m *Model) pause(at time.Time) {
	for _, x := range m.open() {
		x.work.pause(at)
	}
}

// tryAgain notes that a resumed run tries failed agents again: all but that of a run which was suspended while agents wait for
// something that comes from outside.
func (m *Model) tryAgain() {
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

// addAgent takes an event about an agent.
func (m *Model) addAgent(e state.Event, a *Agent) {
	m.addWait(e)
	switch b := e.Body.(type) {
	case *state.AgentStarted:
		a.Parent, a.State, a.Vars = b.Parent, e.State, b.Vars
	case *state.StateStarted:
		m.start(e, b, a)
	case *state.StateFinished:
		m.finish(e, b, a)
	case *state.Transition:
		a.moveTo(b)
		x := m.exec(e, a)
		if x != nil {
			x.moveTo(b)
		}
		m.countMove(x, b)
	case *state.AgentFinished:
		a.finish(e, b)
	case *state.AgentWaits:
		a.State, a.Status = e.State, agentWaits
		if x := a.last; x.isOpen() {
			x.work.pause(e.Time)
		}
	case *state.AgentGoesOn:
		m.countTimeout(a, e.State)
		a.State, a.Status = e.State, Running
	default:
		m.note(e, a)
	}
}

// note takes what happens within an execution. All but an interruption resumes one that was
// paused: a reminder or a verdict was pending.
func (m *Model) note(e state.Event, a *Agent) {
	said, isSaid := e.Body.(*state.AgentOutput)
	if isSaid && m.isShort {
		a.talk.say(said.Text)
	}
	x := m.exec(e, a)
	if x == nil {
		return
	}
	if _, isCut := e.Body.(*state.AttemptInterrupted); !isCut {
		x.work.resume(m.began())
	}
	if isSaid && !m.isShort {
		x.Output = append(x.Output, said.Text)
	}
	if b, isJudged := e.Body.(*state.NodeAttempt); isJudged {
		m.attempts[x.State]++
		m.spent = m.spent.Plus(b.Spent)
		a.setUnfinished(x.Spent.Spent.Plus(b.Spent), x.Models)
	}
	if x.note(e) {
		m.byAgent.of(a.ID).Retries++
		m.byState.of(x.State).Retries++
	}
}

// began is when this part of the run began.
func (m *Model) began() (at time.Time) {
	if n := len(m.Segments); n > 0 {
		at = m.Segments[n-1].Started
	}
	return at
}

// agent returns the agent of an event.
func (m *Model) agent(e state.Event) *Agent {
	a := m.agents[e.Agent]
	if a == nil {
		a = &Agent{ID: e.Agent, State: e.State, Status: Running, talk: talk{used: map[string]int{}}}
		m.agents[e.Agent] = a
		m.Agents = append(m.Agents, a)
	}
	return a
}

// exec returns the execution of an event: the agent's last one, until it has ended. A resume
// may have given it another number. One that is new began in no log. It is nil for none.
func (m *Model) exec(e state.Event, a *Agent) *Exec {
	x := a.last
	switch {
	case e.Exec == 0 || x != nil && x.N == e.Exec:
	case x.isOpen() && x.State == e.State:
		x.N = e.Exec
	default:
		x = m.begin(e, a)
	}
	return x
}

// Last returns the newest execution of an agent, nil for none.
func (m *Model) Last(agent string) *Exec {
	if a := m.agents[agent]; a != nil {
		return a.last
	}
	return nil
}

// begin adds an execution.
func (m *Model) begin(e state.Event, a *Agent) *Exec {
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
	if m.isShort && len(m.Executions) > maxFirst+maxLast {
		m.Executions = slices.Delete(m.Executions, maxFirst, maxFirst+1)
	}
	return x
}

// start takes the beginning of an execution, or of one that a later part of the run repeats
// because it was interrupted.
func (m *Model) start(e state.Event, b *state.StateStarted, a *Agent) {
	a.State, a.Status = e.State, Running
	x := a.last
	if x.isOpen() && x.State == e.State && (x.work.isPaused || e.Exec > 0 && x.N == e.Exec) {
		x.work.pause(e.Time)
		x.work.resume(e.Time)
		x.work.isRepeated = true
		x.N = max(x.N, e.Exec) // when parts of a matrix were joined it has got a higher number
	} else {
		a.Error, a.Result, a.hasResult = "", "", false
		x = m.begin(e, a)
		x.attempt = b.Attempt
	}
	x.start(b)
}

// finish takes the end of an execution.
func (m *Model) finish(e state.Event, b *state.StateFinished, a *Agent) {
	m.spent = m.spent.Plus(b.Spent.Minus(a.open().spent()))
	spent := Spent{b.Spent, b.Tokens}
	a.ended = a.ended.Plus(spent)
	if b.CLI != "" {
		m.CLI = b.CLI
	}
	a.talk.refuse(b.AllRefusals())
	asked, ms := "", b.DurationMS
	if x := m.exec(e, a); x.isOpen() { // it may have been refused before it began
		x.work.resume(m.began())
		x.finish(e, b)
		x.Total = m.total().USD
		asked, ms = x.Model, x.DurationMS
	}
	if !b.OK && !state.IsExhausted(b.Error) { // a later event tells whether the agent fails
		a.fail(e, b.Error)
	}
	m.byModel.book(spent, b.Models, asked, ms)
	a.Spent = a.ended
	for _, s := range []*Sum{m.byAgent.of(a.ID), m.byState.of(e.State)} {
		s.DurationMS += ms
		s.Spent = s.Spent.Plus(spent)
		if !b.OK {
			s.Failed++
		}
	}
}

// open returns the executions that have not ended, the oldest first.
func (m *Model) open() []*Exec {
	var all []*Exec
	for _, a := range m.Agents {
		if x := a.open(); x != nil {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *Exec) int { return a.N - b.N })
	return all
}
