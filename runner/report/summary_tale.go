package report

import (
	"cmp"
	"slices"
	"strings"
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
	cli     string // version and path of the agent CLI that ran last

	begun       int // state executions
	first, last []*execution
	byState     map[string]*sum
	summed      []*sum
	working     map[string]*execution // the last of each agent that has no result

	actors []*actor
	named  map[string]*actor
	others int // agents beyond those

	bill    bill        // of all agents
	counted state.Spent // spent up to the end of the last part
	since   state.Spent // spent since, in states that ended
	warned  state.Spent // spent, as a limit said

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
	isPaused     bool                 // the run came to rest before it ended
	isAgain      bool                 // a later part of the run began it once more
	onward       time.Time            // when it went on last
	worked       time.Duration        // before that
	isExhausted  bool                 // it has no attempts left, and the agent has not failed
	attempts     int
	retries      int
	reminders    int
	move         string // the first
	moves        int
	owes         state.Spent // of one that did not end with its part of the run
}

// debt is what an execution has cost that did not end with its part of the run.
// It is part of what the execution has cost when it ends later.
type debt struct {
	*state.Unfinished
	row *execution // where the table shows it; nil when it does not
}

// actor is an agent.
type actor struct {
	id, parent string
	state      string
	standing   standing
	runs       int
	spent      state.Spent // in states that ended
	owes       *debt       // nil when nothing is owed for one that did not
	last       *execution  // the newest
	attempt    int
	fault      passage
	outputs    outputs // of the script that failed
	tries      []*try  // the last ones
	untried    int     // attempts before those
	isJudged   bool    // the last of them is one of the last state
	bill       bill
	result     passage
	move       string
	said       []string
	tools      map[string]int
	refused    []state.Refusal
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
	last := t.now
	if e.Time.After(t.now) {
		t.now = e.Time
	}
	if e.Agent == "" {
		t.addRun(e, last)
	} else {
		t.addAgent(e, t.actor(e))
	}
	return true
}

// addRun takes an event about the run; last is when the one before it came.
func (t *tale) addRun(e state.Event, last time.Time) {
	switch b := e.Body.(type) {
	case *state.RunStarted:
		t.goOn(b, e.Time, last)
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
			t.warned = b.Spent()
		}
	}
}

func (t *tale) end(b *state.RunFinished) {
	t.ending = b
	t.earlier += time.Duration(b.DurationMS) * time.Millisecond
	t.counted, t.since, t.warned = b.Spent(), state.Spent{}, state.Spent{}
	t.owe(b.Unfinished)
	t.result = passage{}
	if b.Result != nil {
		t.result = keep(string(*b.Result), mostResult)
	}
	t.pause(t.now)
}

// owe notes what executions have cost that did not end, in the place of what was
// known of that before.
func (t *tale) owe(unfinished []state.Unfinished) {
	for _, a := range t.actors {
		a.settle()
	}
	for i := range unfinished {
		u := &unfinished[i]
		if a := t.named[u.Agent]; a != nil {
			a.owes = &debt{u, t.working[u.Agent]}
			if a.owes.row == nil {
				a.owes.row = a.last
			}
		}
		if a := t.named[u.Agent]; a != nil && a.owes.row != nil {
			a.owes.row.owes = u.Spent()
		}
	}
}

// settle forgets what an agent owes, and returns it.
func (a *actor) settle() state.Spent {
	if a.owes == nil {
		return state.Spent{}
	}
	was := a.owes.Spent()
	if a.owes.row != nil {
		a.owes.row.owes = state.Spent{}
	}
	a.owes = nil
	return was
}

// owing is what is owed for executions of a state.
func (t *tale) owing(name string) state.Spent {
	var all state.Spent
	for _, a := range t.actors {
		if a.owes != nil && a.owes.State == name {
			all = all.Plus(a.owes.Spent())
		}
	}
	return all
}

// debts is what all agents owe.
func (t *tale) debts() []*debt {
	var all []*debt
	for _, a := range t.actors {
		all = append(all, a.owes)
	}
	return all
}

// total is what an agent has cost so far.
func (a *actor) total() state.Spent {
	if a.owes == nil {
		return a.spent
	}
	return a.spent.Plus(a.owes.Spent())
}

// spent is what the run has cost so far, as far as events tell.
func (t *tale) spent() state.Spent {
	return t.counted.Plus(t.since).AtLeast(t.warned)
}

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
		if b.Error == "" {
			delete(t.working, e.Agent)
		}
	case *state.AttemptInterrupted:
		a.stumble(e)
	default:
		a.stumble(e)
		t.count(e)
	}
}

// current is the last execution of an agent, which goes on if it was paused: a
// reminder or a verdict was pending.
func (t *tale) current(agent string) *execution {
	x := t.working[agent]
	if x != nil && x.isPaused {
		x.isPaused, x.onward = false, t.part
	}
	return x
}

func (t *tale) begin(e state.Event, b *state.StateStarted, a *actor) {
	if x := t.working[e.Agent]; x != nil && x.isPaused && x.state == e.State {
		x.isPaused, x.isAgain, x.onward = false, true, e.Time
		a.state, a.standing = e.State, atWork
		return
	}
	t.begun++
	t.sum(e.State).runs++
	x := &execution{
		n: t.begun, agent: e.Agent, state: e.State, kind: b.Kind, model: b.Model, session: b.Session, began: e.Time, onward: e.Time,
		attempts: b.Attempt,
	}
	t.working[e.Agent], a.last = x, x
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
	t.since = t.since.Plus(b.Spent().Minus(a.settle()))
	a.spent = a.spent.Plus(b.Spent())
	a.refuse(refusals(b))
	a.outputs = outputsOf(b)
	t.cli = cmp.Or(b.CLI, t.cli)
	isExhausted := strings.HasPrefix(b.Error, exhausted)
	if !b.OK && !isExhausted { // or else what follows says whether the agent failed
		a.fail(e, b.Error)
	}
	short, model := *b, ""
	short.Denied, short.Refusals, short.Error, short.Models = nil, nil, "", nil
	short.StdoutTail, short.StderrTail = "", ""
	if x := t.current(e.Agent); x != nil {
		if x.isAgain {
			short.DurationMS += x.worked.Milliseconds()
		}
		x.ended, x.isExhausted, model = &short, isExhausted, x.model
	}
	t.sum(e.State).add(&short)
	t.bill.book(b.Spent(), b.Models, model)
	a.bill.book(b.Spent(), b.Models, model)
}

// exhausted is how the error of a state begins that has no attempts left. The
// workflow says whether the agent fails then.
const exhausted = "max_ralph_iters_reached"

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
	x := t.current(e.Agent)
	if x == nil {
		return
	}
	switch b := e.Body.(type) {
	case *state.Retry:
		if !b.Service {
			x.retries++
		}
	case *state.Reminder:
		x.reminders++
	case *state.NodeAttempt:
		x.attempts = b.Attempt
	}
}
