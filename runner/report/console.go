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
	minRank    rank   // lowest rank of the lines that the options allow
	out        []byte // output that was not written to w yet
	now        time.Time
	isJob      bool         // the console is part of a JobReporter, which shows the result of the run elsewhere
	hasFailure bool         // a line has reported that an agent failed
	active     []*agentView // active agents, in the order of their start
	model      *Model
	failures   map[string]string // error of the last ended state, by agent; "" if the state succeeded
	drawn      int               // number of live lines on the screen; the cursor is at the start of the line below them
	drawnAt    time.Time         // when the live lines were last drawn
	// Widths of the columns so far. They grow with longer names.
	agentColumn, stateColumn int
	// pending is the line for the end of a state. It is printed together with the transition, whose
	// event follows in the same step.
	pending *line
}

// agentView contains the data of a console or a job log about an active agent.
type agentView struct {
	id, state    string
	started      time.Time // when the state execution started
	lastShown    time.Time // when a line about the agent was last shown
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
	c := &Console{w: w, o: o, model: m, failures: map[string]string{}, agentColumn: len("main"), stateColumn: len("START.md")}
	switch {
	case o.Quiet:
		c.minRank = rankImportant
	case o.Verbose:
		c.minRank = rankVerbose
	}
	return c
}

// line is one line of output for a user. Its texts are untrusted; control characters are removed
// when it is rendered.
type line struct {
	agent, state string
	mark         mark
	figures      string // duration and cost, in raymond's own words; never shortened
	text         string
	rank         rank
	isOurs       bool // all words are raymond's own, except names
}

// rank is the importance of a line. It determines whether the line is shown in quiet, normal and
// verbose mode.
type rank int

const (
	rankVerbose rank = iota - 1 // only shown in verbose mode
	rankNormal
	rankImportant // failures and the last line; also shown in quiet mode
)

// mark is the word in a line that names the kind of the line, such as "start" or "retry".
type mark string

// The marks of lines about states and agents. The last line of a run has the run's status instead.
const (
	markStart   mark = "start"
	markOK      mark = "ok"
	markFailed  mark = "FAILED"
	markMoves   mark = "moves"
	markRemind  mark = "remind"
	markNote    mark = "note"
	markRetry   mark = "retry"
	markVerdict mark = "verdict"
	markRerun   mark = "rerun"
	markNew     mark = "new"
	markDone    mark = "done"
	markLimit   mark = "limit"
	markGaveUp  mark = "gave up"
	markRefused mark = "refused"
	markSays    mark = "says"
	markStored  mark = "stored"
	markStarted mark = "started"
	markResumed mark = "resumed"
	markWaits   mark = "waits"
	markReady   mark = "ready"
	markRunning mark = "running" // only in the live lines of a terminal
)

// runAgent is shown instead of an agent's name in lines about the run. No agent has this name,
// since agent names start with "main".
const runAgent = "run"

// describe returns the line for an event. For an event that has no line of its own, it returns a line
// without a mark, which is not shown.
func (c *Console) describe(e state.Event) line {
	l := line{agent: cmp.Or(e.Agent, runAgent), state: e.State}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		if l.mark, l.text = markStarted, runText(b); b.Resumed {
			l.mark = markResumed
		}
		if c.o.WorkflowID != "" {
			l.figures = plain(c.o.WorkflowID) + ": "
		}
	case *state.StateStarted:
		l.mark, l.text = markStart, startText(b, c.o.Verbose)
	case *state.AgentOutput:
		l.mark, l.text, l.rank = markSays, b.Text, rankVerbose
	case *state.Reminder:
		l.mark, l.text = markRemind, fmt.Sprintf("%d: %s", b.N, b.Reason)
	case *state.Retry:
		l.mark, l.text = markRetry, fmt.Sprintf("%d in %s: ", b.N, formatMillis(b.BackoffMS))
		if b.Service {
			l.text += "the service failed: "
		}
		l.text += b.Error
	case *state.Transition:
		if l.mark, l.text = markMoves, transitionText(b); b.Tag == "fork" { // each new agent has a line anyway
			l.rank = rankVerbose
		}
	case *state.AgentStarted:
		if l.mark, l.text = markNew, agentText(b); b.Parent == "" { // the start of the run already has a line
			l.rank = rankVerbose
		}
	case *state.NodeAttempt:
		l.mark, l.text = markVerdict, verdictText(b)
	case *state.AttemptInterrupted:
		l.mark, l.text = markRerun, fmt.Sprintf("attempt %d was interrupted: %s", b.Attempt, b.Reason)
	case *state.AgentWaits:
		l.mark, l.text, l.isOurs = markWaits, (&Wait{AgentWaits: *b}).Text(), b.For != state.ForAnswer
	case *state.AgentGoesOn:
		l.mark, l.text, l.isOurs = markReady, waitEndText(&c.model.endedWait, b.By), true
	case *state.Checkpoint:
		if l.mark, l.rank = markStored, rankVerbose; b.Error != "" {
			l.mark, l.text, l.rank = markFailed, "checkpoint"+inStore(b)+": "+b.Error, rankImportant
			break
		}
		l.text = fmt.Sprintf("step %d in store %s, %d KiB in %s", b.SeqStored, b.Store, (b.Bytes+1023)/1024, formatMillis(b.DurationMS))
	case *state.Limit:
		l.mark, l.text = markLimit, (&Limit{Limit: *b}).Text()
	}
	return l
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
		// The pending line for the end of the state and the transition become one line, unless the
		// state had no attempts left.
		next, ended := c.describe(e), c.takePending(e.Agent)
		switch {
		case ended == nil:
		case ended.mark == markGaveUp:
			c.print(*ended)
		default:
			ended.text = next.text
			next = *ended
		}
		c.print(next)
	case *state.AgentFinished:
		c.endAgent(e, b)
	case *state.RunFinished:
		c.active = nil
		figures := []string{c.model.costSummary(b), state.Count(b.Iterations, "state")}
		if b.InheritedUSD > 0 {
			figures = append(figures, b.InheritedUSD.Dollars()+" inherited")
		}
		l := line{agent: runAgent, mark: mark(b.Status), rank: rankImportant, isOurs: b.Reason == ""}
		l.figures = strings.Join(append(figures, endTexts(b)...), ", ")
		if b.Reason != "" {
			l.figures += ": "
			l.text = state.WithoutCode(b.Reason)
		}
		if c.hasFailure && b.Status == state.Failed { // earlier lines have shown why agents failed
			l.text, l.isOurs = failedAgent(b.Reason), true
		}
		c.print(l)
	default:
		l := c.describe(e)
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
	c.active, c.drawnAt = nil, time.Time{}
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

// updateActive updates the data of an active agent after an event, for which l is the line.
func (c *Console) updateActive(e state.Event, l line) {
	switch b := e.Body.(type) {
	case *state.StateStarted:
		c.deactivate(e.Agent)
		v := c.activate(e.Agent, e.State)
		v.started, v.lastShown = e.Time, e.Time
	case *state.AgentOutput:
		c.activate(e.Agent, e.State).activity.update(runner.Progress{Text: b.Text}, c.now)
	case *state.NodeAttempt, *state.Retry, *state.Reminder: // an invocation has ended
		c.activate(e.Agent, e.State).activity = activity{lastText: string(l.mark) + " " + l.text, lastTime: c.now}
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
	if b.OK && c.minRank > rankNormal {
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
	end := line{agent: e.Agent, state: e.State, mark: markDone, text: "no result"}
	switch {
	case isShown:
		return
	case b.Error != "":
		end.mark, end.text, end.rank = markFailed, b.Error, rankImportant
	case b.Result == nil:
	case *b.Result == "":
		end.text = "empty result"
	case c.isJob && e.Agent == firstAgent:
		end.text, end.isOurs = "with the result of the run", true
	default:
		end.text = "result: " + string(*b.Result)
	}
	c.print(end)
}

// print adds a line to the output that flush writes. It ignores a line that the options don't allow
// because of its rank.
func (c *Console) print(l line) {
	if l.mark == "" || l.rank < c.minRank {
		return
	}
	c.agentColumn = max(c.agentColumn, min(columns(l.agent), widestColumn))
	c.stateColumn = max(c.stateColumn, min(columns(l.state), widestColumn))
	if printer, ok := c.w.(ownPrinter); ok && (l.isOurs || slices.Contains([]mark{markStart, markOK, markVerdict, markStarted, markResumed, markStored}, l.mark)) {
		_ = c.flush() // the job log's writer never returns an error
		printer.PrintOwn(c.render(l))
	} else {
		c.out = append(append(c.out, c.render(l)...), '\n')
	}
	if v := c.find(l.agent); v != nil {
		v.lastShown = c.now
	}
}

// ownPrinter is a writer with a separate method for lines that consist of raymond's own words and of
// names.
type ownPrinter interface{ PrintOwn(line string) }

// flush writes the collected output and, on a terminal, erases the live lines before it and draws them
// again after it. The live lines are drawn at most once per redrawEvery. If output is printed before
// that time has passed, they stay erased until a later call draws them.
func (c *Console) flush() error {
	if c.o.Terminal && !c.o.Quiet {
		since := c.now.Sub(c.drawnAt)
		isDue := since < 0 || since >= redrawEvery
		if isDue || len(c.out) > 0 {
			c.out = append(c.erase(), c.out...)
		}
		if isDue {
			c.drawnAt = c.now
			for _, l := range c.liveLines() {
				c.out = append(append(c.out, l...), '\n')
				c.drawn++
			}
		}
	}
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.w.Write(c.out)
	c.out = c.out[:0]
	return err
}

// The intervals at which a Console updates its display.
const (
	redrawEvery   = 100 * time.Millisecond
	progressEvery = 30 * time.Second
	maxLive       = 10 // number of live lines; a block that is higher than the screen can't be erased
)

// erase returns the bytes that move the cursor to the top of the live lines and clear the screen below
// it. They start with a carriage return, because the terminal echoes typed keys, such as ^C, at the
// cursor.
func (c *Console) erase() []byte {
	if c.drawn == 0 {
		return nil
	}
	n := c.drawn
	c.drawn = 0
	return fmt.Appendf(nil, "\r\x1b[%dA\x1b[J", n)
}

// liveLines returns a line about each active agent, shortened to the width of the terminal. It
// returns at most maxLive lines and one line with the number of other agents.
func (c *Console) liveLines() []string {
	var lines []string
	for i, v := range c.active {
		if i == maxLive {
			return append(lines, fmt.Sprintf("  and %d more", len(c.active)-i))
		}
		text := fmt.Sprintf("%s  %s  %s  %6s  %7s", pad(name(v.id), c.agentColumn), pad(name(v.state), c.stateColumn),
			pad(string(markRunning), markColumn), formatClock(c.now.Sub(v.started)), c.model.agents[v.id].Spent.Spent)
		if words := v.activity.text(c.now, func(text string) string { return text }); words != "" {
			text += "  " + words
		}
		lines = append(lines, head(text, c.o.Width-1))
	}
	return lines
}

// progress returns a line with an agent's activity, the time since its state started, and the cost
// of the run.
func (c *Console) progress(v *agentView) string {
	text := v.title() + ": working for " + formatClock(c.now.Sub(v.started))
	if judged := c.model.Last(v.id).lastVerdict(); judged != nil {
		text += fmt.Sprintf(", attempt %d", judged.Attempt+1)
	}
	if spent := c.model.total(); spent != (state.Spent{}) {
		text += ", " + c.model.withBudget(spent) + " spent"
	}
	if words := v.activity.text(c.now, c.dim); words != "" {
		return c.dim(text+"; ") + words
	}
	return c.dim(text)
}

// SetLive turns the live lines of a Console on or off. While they are off, only complete lines are
// written, so that a user can type into the terminal.
func (c *Console) SetLive(live bool) error {
	if live == c.o.Terminal {
		return nil
	}
	if live {
		c.o.Terminal = true
		return c.flush()
	}
	_, err := c.w.Write(append(c.erase(), c.out...))
	c.out, c.o.Terminal = c.out[:0], false
	return err
}

// activity describes the current work of an agent, if known. Its texts are untrusted.
type activity struct {
	current  string    // current work, such as a running tool; "" if unknown
	since    time.Time // start of the work in current
	lastText string    // newest text that the agent wrote
	lastTime time.Time // when lastText was written
}

// update sets the agent's newest text and activity. If the activity has not changed, since keeps its
// value.
func (d *activity) update(p runner.Progress, at time.Time) {
	if p.Text != "" {
		d.lastText, d.lastTime = p.Text, at
	}
	if p.Activity != "" && p.Activity != d.current {
		d.current, d.since = p.Activity, at
	}
}

// text describes the activity, or returns "" if it is unknown. paint colors raymond's own words.
func (d *activity) text(now time.Time, paint func(string) string) string {
	switch {
	case d.current != "":
		return cut(d.current, jobWidth) + paint(" for "+formatClock(now.Sub(d.since)))
	case d.lastText != "":
		return paint("last, "+formatClock(now.Sub(d.lastTime))+" ago: ") + cut(d.lastText, jobWidth)
	}
	return ""
}

const (
	markColumn          = len(markVerdict)
	widestColumn        = 30   // longer names move the following text of their line to the right
	widestName          = 100  // longer names are cut
	minText             = 60   // minimum columns for a text, even in a narrow terminal
	maxImportantText    = 1000 // columns of an important text, independent of the width of the terminal
	maxImportantRunText = 300  // columns of an important text about the run
)

// colors maps marks to the codes of their colors on a terminal.
var colors = map[mark]string{
	markStart: "2", markSays: "2", markStored: "2",
	markOK: "32", markDone: "32", mark(state.Completed): "1;32",
	markFailed: "1;31", mark(state.Failed): "1;31",
	markRemind: "33", markRetry: "33", markVerdict: "33", markRerun: "33", markWaits: "33", markReady: "32", markRefused: "33", markLimit: "33", markGaveUp: "33",
	mark(state.OverBudget): "1;33", mark(state.OverIterations): "1;33",
	mark(state.Suspended): "1;33", mark(state.Cancelled): "1;33",
}

// colorize gives a text the color of the mark m. It returns the text unchanged if colors are off.
func (c *Console) colorize(m mark, text string) string {
	code, ok := colors[m]
	if !c.o.Color || !ok {
		return text
	}
	if c.isJob && code == "2" { // GitHub's log viewer can't show dim texts
		code = "90" // grey
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// dim colors a text of raymond that is not important.
func (c *Console) dim(text string) string { return c.colorize(markStart, text) }

// render returns a line as text, without a line break at its end. It shortens the text of the line to
// the width of the console. Important texts may be longer.
func (c *Console) render(l line) string {
	before := pad(name(l.agent), c.agentColumn) + "  "
	word, gap := strings.ReplaceAll(name(string(l.mark)), "_", " "), " "
	if l.agent != runAgent {
		before += pad(name(l.state), c.stateColumn) + "  "
		gap = pad("", markColumn-len(word)+2)
	}
	text := ""
	switch used := columns(before) + len(word) + len(gap) + columns(l.figures); {
	case l.rank == rankImportant && l.agent == runAgent:
		text = cutMiddle(l.text, maxImportantRunText)
	case l.rank == rankImportant || l.mark == markWaits:
		text = cutMiddle(l.text, maxImportantText)
	default:
		text = cut(l.text, max(minText, c.o.Width-used))
	}
	return strings.TrimRight(before+c.colorize(l.mark, word)+gap+l.figures+text, " ")
}

// name converts the name of an agent, a state or a status to plain text, and shortens a long name.
func name(s string) string { return cut(s, widestName) }
