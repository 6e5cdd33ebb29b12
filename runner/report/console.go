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

// ConsoleOptions are the options of a Console or a JobReporter.
type ConsoleOptions struct {
	Terminal bool // show a live line for each active agent; otherwise write only complete lines
	Color    bool // use colors; only for a terminal, and never if NO_COLOR is set
	Quiet    bool // show only failures and the last line
	Verbose  bool // also show agents' texts, working directories and checkpoints
	// Width is the number of columns of the terminal. If 0, lines have up to 160 columns.
	Width int
	// WorkflowID is the id of the run. It is shown in the line about the start of the run.
	WorkflowID string
}

// Console shows the progress of a run. It prints a line for each start and end of a state, and for
// other events such as retries and reminders. On a terminal, each active agent also has a live line
// at the bottom, which Close removes. Elsewhere, Tick prints a line about each active agent that no
// line has mentioned for 30 seconds.
type Console struct {
	w          io.Writer
	o          ConsoleOptions
	layout     layout
	out        []byte // output that was not written to w yet
	now        time.Time
	isJob      bool         // the console is part of a JobReporter, which shows the result of the run elsewhere
	hasFailure bool         // a line has reported that an agent failed
	active     []*agentView // active agents, in the order of their start
	model      *Model
	failures   map[string]string // error of the last ended state, by agent; "" if the state succeeded
	live       display
	// pending is the line for the end of a state. It is printed together with the transition, whose
	// event follows in the same step.
	pending *line
}

// agentView contains the data of a console or a job log about an active agent.
type agentView struct {
	id, state    string
	started      time.Time // when the state execution started
	lastShown    time.Time // when a line about the agent was last shown
	attempt      int       // number of the last attempt with a verdict
	activity     activity
	hiddenOutput []line // output that is only shown if the state fails, in quiet mode

	// The content of the agent's group in a job log.
	lines      runner.Excerpt
	facts      string // the session and the directory, to be shown before the first line
	groupCount int    // number of groups that were opened for the state
}

// NewConsole returns a Console that writes to w and reads the model m.
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
	case *state.AgentStarted: // this event comes before the fork's transition
	default:
		c.printPending()
	}
	switch b := e.Body.(type) {
	case *state.StateFinished:
		c.endState(e, b)
	case *state.Transition:
		c.showTransition(e, b)
	case *state.AgentFinished:
		c.endAgent(e, b)
	case *state.RunFinished:
		c.active = nil
		c.print(c.model.runFinishedLine(b, c.hasFailure))
	case *state.AgentWaits:
		c.print(line{agent: e.Agent, state: e.State, mark: markWaits, text: (&Wait{AgentWaits: *b}).Text(), isOurs: b.For != state.ForAnswer})
	case *state.AgentGoesOn:
		c.print(line{agent: e.Agent, state: e.State, mark: markReady, text: c.model.endedWait.endText(b.By), isOurs: true})
	default:
		l := c.o.describe(e)
		c.updateActive(e, l)
		c.print(l)
	}
	return c.flush()
}

// Note prints a message about an agent that is not part of an event.
func (c *Console) Note(agent, state, text string) error {
	c.print(line{agent: agent, state: state, mark: markNote, text: text})
	return c.flush()
}

// Doing prints a line of a script's output, which is not part of an event. In quiet mode, the line
// is only printed if the script fails. Doing also records the agent's current activity, for its
// live line. It ignores tool calls.
func (c *Console) Doing(agent, stateName string, p runner.Progress) error {
	if p.Tool != nil {
		return nil
	}
	v := c.activate(agent, stateName)
	if v.activity.update(p, c.now); p.Text == "" {
		return nil
	}
	l := line{agent: agent, state: stateName, mark: markSays, text: p.Text}
	if c.o.Quiet {
		l.rank = rankImportant
		v.hiddenOutput = append(v.hiddenOutput, l)
		return nil
	}
	c.print(l)
	return c.flush()
}

// Tick prints the pending line and redraws the live lines. Without a terminal, it prints a line about
// each active agent that no line has mentioned for progressEvery.
func (c *Console) Tick(now time.Time) error {
	c.now = now
	c.printPending()
	if !c.o.Terminal && !c.o.Quiet {
		for _, v := range c.active {
			if c.now.Sub(v.lastShown) >= progressEvery {
				v.lastShown = c.now
				c.out = append(append(c.out, c.progress(v)...), '\n')
			}
		}
	}
	return c.flush()
}

// Close prints the pending line and erases the live lines.
func (c *Console) Close() error {
	c.active, c.live.at = nil, time.Time{}
	c.printPending()
	return c.flush()
}

// find returns the view of an active agent, or nil.
func (c *Console) find(agent string) *agentView {
	if i := slices.IndexFunc(c.active, func(v *agentView) bool { return v.id == agent }); i >= 0 {
		return c.active[i]
	}
	return nil
}

// printPending prints the pending line, after it has become clear that no transition follows. If the
// state had no attempts left, the line is changed, because the agent has not failed: the workflow
// makes the agent wait.
func (c *Console) printPending() {
	l := c.pending
	if l == nil {
		return
	}
	if c.pending = nil; l.mark == markGaveUp {
		l.mark, l.rank, l.text = mark(state.Suspended), rankNormal, l.text+"; the agent waits"
	}
	c.print(*l)
}

// takePending returns the pending line of an agent and clears it. If the pending line belongs to
// another agent, it prints the line. In this case, and without a pending line, it returns nil.
func (c *Console) takePending(agent string) *line {
	l := c.pending
	if l == nil || l.agent != agent {
		c.printPending()
		return nil
	}
	c.pending = nil
	return l
}

// firstAgent is the name of the first agent. Its result is the result of the run.
const firstAgent = "main"

// failedAgent shortens the reason for a failed run to the agent and its state, because the reason
// for the agent's failure was already shown.
func failedAgent(reason string) string {
	who, _, ok := strings.Cut(reason, ": ")
	if !ok || !strings.HasPrefix(who, "agent ") {
		return reason
	}
	return who
}

// updateActive updates the data of an active agent after an event.
func (c *Console) updateActive(e state.Event, l line) {
	switch b := e.Body.(type) {
	case *state.StateStarted:
		c.deactivate(e.Agent)
		v := c.activate(e.Agent, e.State)
		v.started, v.lastShown = e.Time, e.Time
	case *state.AgentOutput:
		c.activate(e.Agent, e.State).activity.setText(b.Text, c.now)
	case *state.NodeAttempt:
		v := c.activate(e.Agent, e.State)
		v.attempt = b.Attempt
		v.activity.reset(string(l.mark)+" "+l.text, c.now)
	case *state.Retry, *state.Reminder:
		c.activate(e.Agent, e.State).activity.reset(string(l.mark)+" "+l.text, c.now)
	}
}

// activate returns the view of an active agent. It adds the agent if necessary: after a resume, the
// agent's first event may not be the start of a state.
func (c *Console) activate(agent, stateName string) *agentView {
	v := c.find(agent)
	if v == nil {
		v = &agentView{id: agent, state: stateName, started: c.now, lastShown: c.now}
		c.active = append(c.active, v)
	}
	return v
}

// deactivate removes an agent from the active agents.
func (c *Console) deactivate(agent string) {
	c.active = slices.DeleteFunc(c.active, func(v *agentView) bool { return v.id == agent })
}

// endState prints the end of a state. If a transition may follow, the line becomes pending instead.
func (c *Console) endState(e state.Event, b *state.StateFinished) {
	v := c.find(e.Agent)
	c.failures[e.Agent] = b.Error
	c.deactivate(e.Agent)
	if len(b.Denied) > 0 {
		c.print(line{agent: e.Agent, state: e.State, mark: markRefused, text: strings.Join(b.Denied, ", ")})
	}
	if b.OK && c.minRank() > rankNormal {
		return
	}
	if v != nil {
		for _, output := range v.hiddenOutput {
			c.print(output)
		}
	}
	l := line{agent: e.Agent, state: e.State, mark: markOK}
	l.figures = fmt.Sprintf("%6s  %7s  ", formatMillis(b.DurationMS), b.Spent)
	if !b.OK {
		l.mark, l.rank = markFailed, rankImportant
	}
	if state.IsExhausted(b.Error) {
		l.mark, l.isOurs = markGaveUp, true // the next event shows whether the agent failed
	}
	l.text = state.DescribeFailure(b.Error, c.model.Last(e.Agent).lastVerdict())
	if b.OK || l.mark == markGaveUp {
		c.pending = &l
		return
	}
	c.print(l)
}

// showTransition prints a transition. If the line for the end of the state is pending, both become
// one line, unless the state had no attempts left.
func (c *Console) showTransition(e state.Event, b *state.Transition) {
	l := c.takePending(e.Agent)
	switch {
	case l == nil:
		c.print(transitionLine(e, b))
	case l.mark == markGaveUp:
		c.print(*l)
		c.print(transitionLine(e, b))
	default:
		l.text = transitionText(b)
		c.print(*l)
	}
}

// endAgent prints how an agent ended, unless the line about its last state already shows this.
func (c *Console) endAgent(e state.Event, b *state.AgentFinished) {
	l, isShown := c.takePending(e.Agent), b.Error != "" && b.Error == c.failures[e.Agent]
	c.hasFailure = c.hasFailure || b.Error != ""
	delete(c.failures, e.Agent)
	c.deactivate(e.Agent)
	if l != nil {
		if isShown {
			l.mark = markFailed
		}
		c.print(*l)
	}
	if isShown {
		return
	}
	end := line{agent: e.Agent, state: e.State, mark: markDone, text: "no result"}
	switch {
	case b.Error != "":
		end.mark, end.text, end.rank = markFailed, b.Error, rankImportant
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

// print adds a line to the output that flush writes. It ignores a line that the options don't allow
// because of its rank.
func (c *Console) print(l line) {
	if l.mark == "" || l.rank < c.minRank() {
		return
	}
	c.layout.agentColumn = max(c.layout.agentColumn, min(columns(l.agent), widestColumn))
	c.layout.stateColumn = max(c.layout.stateColumn, min(columns(l.state), widestColumn))
	if printer, ok := c.w.(ownPrinter); ok && (l.isOurs || slices.Contains([]mark{markStart, markOK, markVerdict, markStarted, markResumed, markStored}, l.mark)) {
		_ = c.flush() // the job log's writer never returns an error
		printer.PrintOwn(c.layout.render(l))
	} else {
		c.out = append(append(c.out, c.layout.render(l)...), '\n')
	}
	if v := c.find(l.agent); v != nil {
		v.lastShown = c.now
	}
}

// ownPrinter is a writer with a separate method for lines that consist of raymond's own words and of
// names.
type ownPrinter interface{ PrintOwn(line string) }

// minRank returns the lowest rank of the lines that the options allow.
func (c *Console) minRank() rank {
	switch {
	case c.o.Quiet:
		return rankImportant
	case c.o.Verbose:
		return rankVerbose
	}
	return rankNormal
}

// flush writes the collected output and, on a terminal, draws the live lines.
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
