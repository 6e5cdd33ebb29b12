package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// JobReporter shows a run in the log of a CI job. It prints a line for the start and the end of
// each state, and a group with the state's events. If only one state is running, its events are
// printed as they occur. If several states run in parallel, each group is printed when its state
// ends, and its lines start with the name of the agent. The middle of a long group is left out.
//
// Tick also prints a line about the activity of each active agent, about every 30 seconds. These
// lines are outside of groups: they end the open group, and the next event of the state opens a new
// one.
type JobReporter struct {
	log *groupLog
	o   ConsoleOptions
	// live is the agent whose lines are printed immediately, or nil. The lines of all other agents
	// are stored until their states end.
	live    *agentView
	console *Console // prints the lines outside of groups, and tracks the active agents
}

const (
	jobWidth       = 160 // maximum columns for an agent's activity
	agentTextWidth = 400 // maximum columns for a line of an agent's text

	// The maximum bytes of a state's lines in a job log. One half is for the first lines, the other
	// half for the last lines.
	maxGroup        = 64 << 10
	maxVerboseGroup = 4 << 20
)

// NewJobReporter returns a JobReporter that writes to log and reads the model m. If o.Verbose is
// set, it prints more and longer lines for each state.
func NewJobReporter(log JobLog, m *Model, o ConsoleOptions) *JobReporter {
	j := &JobReporter{log: &groupLog{log: log}, o: o}
	j.console = NewConsole(j.log, m, o)
	j.console.isJob = true
	return j
}

// Report implements Reporter.
func (j *JobReporter) Report(e state.Event) error {
	if e.Time.After(j.console.now) {
		j.console.now = e.Time
	}
	switch b := e.Body.(type) {
	case *state.StateStarted:
		return j.beginState(e, b)
	case *state.AgentOutput, *state.Reminder, *state.Retry, *state.NodeAttempt:
		return j.showEvent(j.viewOf(e.Agent, e.State), e)
	case *state.StateFinished:
		j.endState(e, b)
	case *state.AgentFinished:
		j.interrupt(j.console.find(e.Agent))
	case *state.RunFinished:
		return j.endRun(e, b)
	}
	return j.console.Report(e)
}

// Note shows a message about an agent that is not part of an event. If the agent is active, the
// message is a line of its group, otherwise a line outside of groups.
func (j *JobReporter) Note(agent, stateName, text string) error {
	if v := j.console.find(agent); v != nil {
		j.print(v, j.colorize(markNote, string(markNote))+" "+j.formatText(text))
		return nil
	}
	return j.console.Note(agent, stateName, text)
}

// Doing records the agent's current activity, for the lines that Tick prints. It ignores tool
// calls.
func (j *JobReporter) Doing(agent, stateName string, p runner.Progress) error {
	if p.Tool != nil {
		return nil
	}
	j.viewOf(agent, stateName).activity.update(p, j.console.now)
	return nil
}

// Tick prints a line about each active agent, at intervals of at least 30 seconds.
func (j *JobReporter) Tick(now time.Time) error { return j.console.Tick(now) }

// Next prints a line about how to continue the run. It prints nothing if text is empty.
func (j *JobReporter) Next(text string) error {
	if text == "" {
		return nil
	}
	j.console.print(line{agent: runAgent, mark: "next:", uncut: withoutBackticks(text), rank: rankImportant, isOurs: true})
	return j.console.flush()
}

// Close marks the states of all active agents as interrupted, ends their groups, and closes the
// console.
func (j *JobReporter) Close() error {
	j.interruptAll()
	return j.console.Close()
}

// viewOf returns the view of an agent. It adds the agent if necessary: after a resume, the agent's
// first event may not be the start of a state.
func (j *JobReporter) viewOf(agent, stateName string) *agentView {
	if v := j.console.find(agent); v != nil {
		return v
	}
	return j.addAgent(agent, stateName)
}

// addAgent adds an agent and ends the open group. The agent's lines are printed immediately if no
// other agent is active. Otherwise, the lines of all active agents are stored from now on.
func (j *JobReporter) addAgent(agent, stateName string) *agentView {
	j.log.endGroup()
	j.live = nil
	v := j.console.activate(agent, stateName)
	half := runner.ExcerptLimit{Bytes: maxGroup / 2}
	if j.o.Verbose {
		half.Bytes = maxVerboseGroup / 2
	}
	v.lines.First, v.lines.Last = half, half
	if len(j.console.active) == 1 {
		j.live = v
	}
	return v
}

// beginState shows the start of a state. If the agent has not ended its previous state, that state
// is shown as interrupted.
func (j *JobReporter) beginState(e state.Event, b *state.StateStarted) error {
	j.interrupt(j.console.find(e.Agent))
	err := j.console.Report(e)
	v := j.addAgent(e.Agent, e.State)
	facts := dirText(b)
	if b.SessionID != "" {
		facts = "session " + b.SessionID + ", " + facts
	}
	if facts = j.dim(cutMiddle(facts, maxImportantText)); j.o.Verbose {
		j.print(v, facts)
	} else {
		v.facts = facts
	}
	return err
}

// showEvent shows an event of an active agent. Verdicts are shown outside of groups, all other
// events in the agent's group.
func (j *JobReporter) showEvent(v *agentView, e state.Event) error {
	l := j.console.o.describe(e)
	switch b := e.Body.(type) {
	case *state.AgentOutput:
		j.console.updateActive(e, l)
		j.print(v, j.formatText(l.text))
	case *state.NodeAttempt:
		for text := range strings.Lines(plainLines(failedOutput(b))) {
			j.print(v, cutOutput(text, maxImportantText))
		}
		return j.console.Report(e)
	default:
		j.console.updateActive(e, l)
		j.print(v, j.colorize(l.mark, string(l.mark))+" "+cutMiddle(l.text, maxImportantText))
	}
	return nil
}

// formatText returns an agent's text as one plain line, shortened if it is too long.
func (j *JobReporter) formatText(text string) string {
	if j.o.Verbose {
		return cutMiddle(text, maxImportantText)
	}
	return cut(text, agentTextWidth)
}

// print prints a line of the live agent, after opening its group if necessary, and stores lines of
// other agents. The line must be plain text. Since the first line opens the group, a state without
// lines has no group.
func (j *JobReporter) print(v *agentView, line string) {
	if facts := v.facts; facts != "" { // the session and the directory come before the first line
		v.facts = ""
		j.print(v, facts)
	}
	if j.live != v {
		v.lines.Add(j.dim(name(v.id)+" │") + " " + line)
		return
	}
	if v.lines.Admit(line) {
		j.beginGroup(v)
		j.log.print(line)
	}
}

func (j *JobReporter) colorize(m mark, text string) string { return j.console.layout.colorize(m, text) }

// dim colors a text of raymond that is not important.
func (j *JobReporter) dim(text string) string { return j.colorize(markStart, text) }

// endState removes the agent of a state that has ended, and ends or prints its group.
func (j *JobReporter) endState(e state.Event, b *state.StateFinished) {
	v := j.console.find(e.Agent)
	if v == nil {
		return
	}
	word := "ok"
	if !b.OK {
		word = "failed"
	}
	j.removeAgent(v, fmt.Sprintf("%s: %s after %s, %s", v.title(), word, formatMillis(b.DurationMS), b.Spent))
}

// interrupt shows that an agent's state was interrupted, and removes the agent. It does nothing if
// v is nil.
func (j *JobReporter) interrupt(v *agentView) {
	if v != nil {
		j.print(v, j.colorize(markRerun, "interrupted"))
		j.removeAgent(v, v.title()+": interrupted")
	}
}

// interruptAll interrupts all active agents.
func (j *JobReporter) interruptAll() {
	for _, v := range slices.Clone(j.console.active) {
		j.interrupt(v)
	}
}

// removeAgent removes an active agent. Its stored lines are printed as a group with the given
// title.
func (j *JobReporter) removeAgent(v *agentView, title string) {
	j.console.deactivate(v.id)
	switch {
	case j.live != v && v.lines.IsEmpty():
		return
	case j.live != v:
		j.log.endGroup()
		j.log.beginGroup(title)
	case !v.lines.IsEmpty():
		j.beginGroup(v)
	}
	v.lines.Each(j.log.print)
	j.log.endGroup()
	if j.live == v {
		j.live = nil
	}
}

// beginGroup opens a group for the live agent, unless a group is open. If the state already had a
// group, the title of the new one contains the time since the start of the state.
func (j *JobReporter) beginGroup(v *agentView) {
	if j.log.isOpen {
		return
	}
	title := v.title()
	if v.groupCount++; v.groupCount > 1 {
		title += ", after " + formatClock(j.console.now.Sub(v.started))
	}
	j.log.beginGroup(title)
}

// title returns the title of an agent's group.
func (v *agentView) title() string { return name(v.id) + " at " + name(v.state) }

// endRun prints the result of the run in a group, and then a line about how the run ended.
func (j *JobReporter) endRun(e state.Event, b *state.RunFinished) error {
	j.interruptAll()
	j.console.printPending()
	if b.Result != nil && *b.Result != "" {
		if err := j.console.flush(); err != nil {
			return err
		}
		j.log.endGroup()
		j.log.beginGroup("result")
		for line := range strings.Lines(shortenMiddle(string(*b.Result), maxGroup)) {
			j.log.print(cutOutput(line, maxImportantText))
		}
		j.log.endGroup()
	}
	return j.console.Report(e)
}
