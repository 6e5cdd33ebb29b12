package report

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// What a tale keeps at most, so that a run of any size can be told.
const (
	mostFirst   = 50   // executions from the first on
	mostLast    = 150  // executions up to the last
	mostActors  = 1000 // agents
	mostText    = 8 << 10
	mostResult  = 16 << 10
	mostRefused = 50 // different refused tool uses of an agent
	mostTools   = 50 // different tools of an agent
	mostTrouble = 20 // lines on what an agent stumbled over
	mostSaid    = 20 // lines of what an agent said last
)

// tale is what a summary knows of a run.
type tale struct {
	seq     int       // of the last event
	now     time.Time // of the last event
	part    time.Time // when this part of the run began
	parts   int
	earlier time.Duration // of the parts that ended
	opening *state.RunStarted
	ending  *state.RunFinished // nil while the run goes on
	result  passage

	begun       int // state executions
	first, last []*execution
	byState     map[string]*sum
	summed      []*sum
	working     map[string]*execution // the last of each agent that has not ended

	actors []*actor
	named  map[string]*actor
	others int // agents beyond those

	bill    bill      // of all agents
	counted state.USD // spent up to the end of the last part
	since   state.USD // spent since, in states that ended
	warned  state.USD // spent, as a limit said

	stored, unstored *state.Checkpoint // the last that went well, and the last that did not
	storedAt         time.Time
}

// execution is a row of the table.
type execution struct {
	n            int
	agent, state string
	kind, model  string
	session      state.SessionMode
	began        time.Time
	ended        *state.StateFinished // nil while it is under way
	cutOff       bool
	isFlake      bool
	attempts     int
	retries      int
	reminders    int
	move         string // the first
	moves        int
}

// actor is an agent.
type actor struct {
	id, parent string
	state      string
	standing   standing
	runs       int
	spent      state.USD
	attempt    int
	fault      passage
	tries      []*try // the last ones
	untried    int    // attempts before those
	isJudged   bool   // the last of them is one of the last state
	bill       bill
	result     passage
	move       string
	said       []string
	tools      map[string]int
	refused    []string
	unlisted   int // refused tool uses beyond those
	trouble    []string
	untold     int // lines of trouble before those
}

// standing is where an agent stands.
type standing int

const (
	atWork standing = iota
	hasResult
	hasNoResult
	hasFailed
)

func newTale() tale {
	return tale{working: map[string]*execution{}, named: map[string]*actor{}, byState: map[string]*sum{}, bill: bill{}}
}

// add takes the next event. It reports whether the event was new: a log that was
// read first may have some that come again.
func (t *tale) add(e state.Event) bool {
	if e.Seq > 0 && e.Seq <= t.seq {
		return false
	}
	t.seq = max(t.seq, e.Seq)
	if e.Time.After(t.now) {
		t.now = e.Time
	}
	if e.Agent == "" {
		t.addRun(e)
	} else {
		t.addAgent(e, t.actor(e))
	}
	return true
}

func (t *tale) addRun(e state.Event) {
	switch b := e.Body.(type) {
	case *state.RunStarted:
		t.opening, t.ending, t.part = b, nil, e.Time
		t.parts++
		t.cutOff()
	case *state.RunFinished:
		t.end(b)
	case *state.Checkpoint:
		if b.Error != "" {
			t.unstored = b
			return
		}
		t.stored, t.storedAt, t.unstored = b, e.Time, nil
	case *state.Limit:
		if b.Which == "budget" {
			t.warned = state.USD(b.Value * float64(state.Dollar))
		}
	}
}

func (t *tale) end(b *state.RunFinished) {
	t.ending = b
	t.earlier += time.Duration(b.DurationMS) * time.Millisecond
	t.counted, t.since, t.warned = b.CostUSD, 0, 0
	t.result = passage{}
	if b.Result != nil {
		t.result = keep(string(*b.Result), mostResult)
	}
	t.cutOff()
}

// cutOff marks what was under way when the run came to rest, or died.
func (t *tale) cutOff() {
	for agent, x := range t.working {
		x.cutOff = x.ended == nil
		delete(t.working, agent)
	}
}

// spent is what the run has cost so far, as far as events tell.
func (t *tale) spent() state.USD { return max(t.counted+t.since, t.warned) }

// actor returns the agent of an event. One that there is no room for is not kept.
func (t *tale) actor(e state.Event) *actor {
	a, ok := t.named[e.Agent]
	if ok {
		return a
	}
	a = &actor{id: e.Agent, state: e.State, tools: map[string]int{}, bill: bill{}}
	if len(t.actors) < mostActors {
		t.actors = append(t.actors, a)
		t.named[e.Agent] = a
	} else if _, isStart := e.Body.(*state.AgentStarted); isStart {
		t.others++
	}
	return a
}

func (t *tale) addAgent(e state.Event, a *actor) {
	switch b := e.Body.(type) {
	case *state.AgentStarted:
		a.parent, a.state = b.Parent, e.State
	case *state.StateStarted:
		t.begin(e, b, a)
	case *state.StateFinished:
		t.finish(e, b, a)
	case *state.Transition:
		t.move(e, b, a)
	case *state.AgentFinished:
		a.finish(e, b)
		delete(t.working, e.Agent)
	default:
		a.stumble(e)
		t.count(e)
	}
}

func (t *tale) begin(e state.Event, b *state.StateStarted, a *actor) {
	if x := t.working[e.Agent]; x != nil {
		x.cutOff = x.ended == nil
	}
	t.begun++
	t.sum(e.State).runs++
	x := &execution{
		n: t.begun, agent: e.Agent, state: e.State, kind: b.Kind, model: b.Model, session: b.Session, began: e.Time, attempts: b.Attempt,
	}
	t.working[e.Agent] = x
	if len(t.first) < mostFirst {
		t.first = append(t.first, x)
	} else {
		if len(t.last) == mostLast {
			t.last = slices.Delete(t.last, 0, 1)
		}
		t.last = append(t.last, x)
	}
	a.state, a.standing, a.attempt = e.State, atWork, b.Attempt
	a.fault, a.result, a.isJudged = passage{}, passage{}, false
	a.runs++
}

func (t *tale) finish(e state.Event, b *state.StateFinished, a *actor) {
	t.since += b.CostUSD
	a.spent += b.CostUSD
	a.refuse(b.Denied)
	if !b.OK {
		a.fail(e, b.Error)
	}
	model := ""
	if x := t.working[e.Agent]; x != nil {
		short := *b
		short.Denied, short.Error, short.Models = nil, "", nil
		x.ended, model = &short, x.model
	}
	t.sum(e.State).add(b)
	t.bill.book(b, model)
	a.bill.book(b, model)
}

func (t *tale) move(e state.Event, b *state.Transition, a *actor) {
	a.move = cut(moveText(b), widestMove)
	if b.Target != "" && b.Tag != "fork" {
		a.state = b.Target
	}
	if x := t.working[e.Agent]; x != nil {
		if x.moves++; x.moves == 1 {
			x.move = a.move
		}
	}
}

// count keeps what the table says of an execution's way.
func (t *tale) count(e state.Event) {
	x := t.working[e.Agent]
	if x == nil {
		return
	}
	switch b := e.Body.(type) {
	case *state.Retry:
		x.retries++
	case *state.Reminder:
		x.reminders++
	case *state.NodeAttempt:
		x.attempts, x.isFlake = b.Attempt, b.Converged && b.Attempt > 1
	}
}
