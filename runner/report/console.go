package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// ConsoleOptions say for whom a Console writes.
type ConsoleOptions struct {
	Terminal bool // a live line per agent at work; else plain lines only
	Color    bool // to be set on a terminal only, and never under NO_COLOR
	Quiet    bool // failures and the last line only
	Verbose  bool // also what agents say, where they work, and what was stored
	// Width is the number of columns; 0 means 160.
	Width int
	// WorkflowID is named where the run begins.
	WorkflowID string
}

// Console shows a person how a run goes: a line for each state that starts or ends,
// for each retry, reminder and the like. On a terminal each active agent also has a
// live line, which Close removes. Elsewhere a line says at least every 30 seconds what an agent
// does that is at work, if Tick is called more often than that.
type Console struct {
	w        io.Writer
	o        ConsoleOptions
	layout   layout
	out      []byte // collected for one write
	now      time.Time
	isJob    bool         // results and failures of agents are shown in places of their own
	failed   bool         // an agent's failure was told
	active   []*agentView // agents at work, in the order in which they began
	model    *Model
	failures map[string]string // of the state that each agent has ended just now, "" where it has not failed
	live     display
	// pending is the line of a state that ended. It waits for the transition, which
	// comes with the same step.
	pending *line
}

// agentView is what the console remembers of an agent at work.
type agentView struct {
	id, state string
	began     time.Time // the state execution
	said      time.Time // the last line about it
	attempt   int       // the last one that ended
	doing     doing
	unseen    []line // of the output, which a quiet reader sees if the state fails

	// What a job log shows of it in groups.
	lines  runner.Excerpt
	facts  string // to be shown before anything else
	opened int    // how often its group was
}

// NewConsole returns a Console on w, to which it writes whole lines.
func NewConsole(w io.Writer, m *Model, o ConsoleOptions) *Console {
	o.Width = cmp.Or(o.Width, 160)
	return &Console{
		w: w, o: o, model: m, failures: map[string]string{},
		layout: layout{color: o.Color, width: o.Width, agentColumn: len("main"), stateColumn: len("START.md")},
	}
}

// Report implements Reporter.
func (c *Console) Report(e state.Event) error {
	if e.Time.After(c.now) {
		c.now = e.Time
	}
	switch e.Body.(type) {
	case *state.Transition, *state.AgentFinished:
	case *state.AgentStarted: // it comes before the transition that forks it
	default:
		c.printPending()
	}
	switch b := e.Body.(type) {
	case *state.StateFinished:
		c.end(e, b)
	case *state.Transition:
		c.move(e, b)
	case *state.AgentFinished:
		c.finish(e, b)
	case *state.RunFinished:
		c.active = nil
		c.print(c.model.lastLine(b, c.failed))
	case *state.AgentWaits:
		c.print(line{agent: e.Agent, state: e.State, mark: waiting, text: (&Wait{AgentWaits: *b}).Text(), isOurs: b.For != state.ForAnswer})
	case *state.AgentGoesOn:
		c.print(line{agent: e.Agent, state: e.State, mark: ready, text: c.model.ended.endText(b.By), isOurs: true})
	default:
		l := c.o.describe(e)
		c.note(e, l)
		c.print(l)
	}
	return c.flush()
}

// Note prints a line about an agent that is not an event.
func (c *Console) Note(agent, state, text string) error {
	c.print(line{agent: agent, state: state, mark: noted, text: text})
	return c.flush()
}

// Doing prints a line that a script wrote, which is not an event. A quiet reader sees it only if
// the script fails. What an agent is busy with is shown while it is.
func (c *Console) Doing(agent, stateName string, p runner.Progress) error {
	if p.Tool != nil {
		return nil
	}
	v := c.activate(agent, stateName)
	if v.doing.note(p, c.now); p.Text == "" {
		return nil
	}
	l := line{agent: agent, state: stateName, mark: says, text: p.Text}
	if c.o.Quiet {
		l.rank = vital
		v.unseen = append(v.unseen, l)
		return nil
	}
	c.print(l)
	return c.flush()
}

// Tick redraws the live lines, or says what agents are doing.
func (c *Console) Tick(now time.Time) error {
	c.now = now
	c.printPending()
	if !c.o.Terminal && !c.o.Quiet {
		for _, v := range c.active {
			if c.now.Sub(v.said) >= progressEvery {
				v.said = c.now
				c.out = append(append(c.out, c.progress(v)...), '\n')
			}
		}
	}
	return c.flush()
}

// Close prints what is left and erases the live lines.
func (c *Console) Close() error {
	c.active, c.live.at = nil, time.Time{}
	c.printPending()
	return c.flush()
}

// find returns what is known of an agent at work, nil for none.
func (c *Console) find(agent string) *agentView {
	if i := slices.IndexFunc(c.active, func(v *agentView) bool { return v.id == agent }); i >= 0 {
		return c.active[i]
	}
	return nil
}

// printPending prints the line that waits for a transition, since none comes. That of a state which
// has no attempts left is worded anew: its agent has not failed, so that the workflow suspends the run.
func (c *Console) printPending() {
	l := c.pending
	if l == nil {
		return
	}
	if c.pending = nil; l.mark == gaveUp {
		l.mark, l.rank, l.text = mark(state.Suspended), usual, l.text+"; the agent waits"
	}
	c.print(*l)
}

// takePending returns the line of an agent that waits for what follows, nil for none.
func (c *Console) takePending(agent string) *line {
	l := c.pending
	if l == nil || l.agent != agent {
		c.printPending()
		return nil
	}
	c.pending = nil
	return l
}

// firstAgent is the agent whose result is the result of the run.
const firstAgent = "main"

// failedAgent returns the part of a failed run's reason that names agent and state. Why
// the agent failed was told before.
func failedAgent(reason string) string {
	who, _, ok := strings.Cut(reason, ": ")
	if !ok || !strings.HasPrefix(who, "agent ") {
		return reason
	}
	return who
}

// note remembers what an event says about an active agent.
func (c *Console) note(e state.Event, l line) {
	switch b := e.Body.(type) {
	case *state.StateStarted:
		c.deactivate(e.Agent)
		v := c.activate(e.Agent, e.State)
		v.began, v.said = e.Time, e.Time
	case *state.AgentOutput:
		c.activate(e.Agent, e.State).doing.said(b.Text, c.now)
	case *state.NodeAttempt:
		v := c.activate(e.Agent, e.State)
		v.attempt = b.Attempt
		v.doing.interrupted(string(l.mark)+" "+l.text, c.now)
	case *state.Retry, *state.Reminder:
		c.activate(e.Agent, e.State).doing.interrupted(string(l.mark)+" "+l.text, c.now)
	}
}

// activate adds an agent to the list of those that are active: after a resume, a state may have
// begun before the first event here.
func (c *Console) activate(agent, stateName string) *agentView {
	v := c.find(agent)
	if v == nil {
		v = &agentView{id: agent, state: stateName, began: c.now, said: c.now}
		c.active = append(c.active, v)
	}
	return v
}

// deactivate removes an agent from the list of those that are active.
func (c *Console) deactivate(agent string) {
	c.active = slices.DeleteFunc(c.active, func(v *agentView) bool { return v.id == agent })
}

func (c *Console) end(e state.Event, b *state.StateFinished) {
	v := c.find(e.Agent)
	c.failures[e.Agent] = b.Error
	c.deactivate(e.Agent)
	if len(b.Denied) > 0 {
		c.print(line{agent: e.Agent, state: e.State, mark: refused, text: strings.Join(b.Denied, ", ")})
	}
	if b.OK && c.minRank() > usual {
		return
	}
	if v != nil {
		for _, output := range v.unseen {
			c.print(output)
		}
	}
	l := line{agent: e.Agent, state: e.State, mark: fine}
	l.figures = fmt.Sprintf("%6s  %7s  ", millis(b.DurationMS), b.Spent)
	if !b.OK {
		l.mark, l.rank = failed, vital
	}
	if state.IsExhausted(b.Error) {
		l.mark, l.isOurs = gaveUp, true // what follows says whether the agent failed
	}
	l.text = state.DescribeFailure(b.Error, c.model.Last(e.Agent).verdict())
	if b.OK || l.mark == gaveUp {
		c.pending = &l
		return
	}
	c.print(l)
}

func (c *Console) move(e state.Event, b *state.Transition) {
	l := c.takePending(e.Agent)
	switch {
	case l == nil:
		c.print(moveLine(e, b))
	case l.mark == gaveUp:
		c.print(*l)
		c.print(moveLine(e, b))
	default:
		l.text = moveText(b)
		c.print(*l)
	}
}

func (c *Console) finish(e state.Event, b *state.AgentFinished) {
	l, isTold := c.takePending(e.Agent), b.Error != "" && b.Error == c.failures[e.Agent]
	c.failed = c.failed || b.Error != ""
	delete(c.failures, e.Agent)
	c.deactivate(e.Agent)
	if l != nil {
		if isTold {
			l.mark = failed
		}
		c.print(*l)
	}
	if isTold {
		return
	}
	end := line{agent: e.Agent, state: e.State, mark: done, text: "no result"}
	switch {
	case b.Error != "":
		end.mark, end.text, end.rank = failed, b.Error, vital
	case b.Result != nil && *b.Result == "":
		end.text = "empty result"
	case b.Result != nil:
		end.text = "result: " + string(*b.Result)
	}
	if c.isJob && e.Agent == firstAgent && b.Result != nil && *b.Result != "" {
		end.text, end.isOurs = "with the result of the run", true
	}
	c.print(end)
}

// print adds a line to what the next flush writes, if this reader wants to see it.
func (c *Console) print(l line) {
	if l.mark == "" || l.rank < c.minRank() {
		return
	}
	c.layout.agentColumn = max(c.layout.agentColumn, min(columns(l.agent), widestColumn))
	c.layout.stateColumn = max(c.layout.stateColumn, min(columns(l.state), widestColumn))
	if own, ok := c.w.(sayer); ok && (l.isOurs || slices.Contains([]mark{began, fine, judged, opened, resumed, stored}, l.mark)) {
		_ = c.flush() // the writer of a job log never fails
		own.PrintOwn(c.layout.render(l))
	} else {
		c.out = append(append(c.out, c.layout.render(l)...), '\n')
	}
	if v := c.find(l.agent); v != nil {
		v.said = c.now
	}
}

// sayer is a writer that treats lines differently in which others chose only names.
type sayer interface{ PrintOwn(line string) }

// minRank returns the lowest rank of lines that this reader wants to see.
func (c *Console) minRank() rank {
	switch {
	case c.o.Quiet:
		return vital
	case c.o.Verbose:
		return extra
	}
	return usual
}

// flush writes what was collected, and the live lines on a terminal.
func (c *Console) flush() error {
	if c.o.Terminal && !c.o.Quiet {
		c.out = c.live.frame(c.out, c.now, c.liveLines())
	}
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.w.Write(c.out)
	c.out = c.out[:0]
	return err
}
