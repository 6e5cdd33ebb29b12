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
	j := &JobReporter{log: &groupLog{JobLog: log}}
	j.console = NewConsole(j.log, m, o)
	j.console.isJob = true
	return j
}

// Report implements Reporter.
func (j *JobReporter) Report(e state.Event) error {
	if e.Time.After(j.console.now) {
		j.console.now = e.Time
	}
	v := j.console.find(e.Agent)
	switch b := e.Body.(type) {
	case *state.StateStarted:
		if v != nil { // the agent has not ended its previous state
			j.interrupt(v)
		}
		err := j.console.Report(e)
		facts := dirText(b)
		if b.SessionID != "" {
			facts = "session " + b.SessionID + ", " + facts
		}
		v = j.viewOf(e.Agent, e.State)
		if v.facts = j.console.dim(cutMiddle(facts, maxImportantText)); j.console.o.Verbose {
			j.print(v)
		}
		return err
	case *state.AgentOutput, *state.Reminder, *state.Retry, *state.NodeAttempt:
		return j.showEvent(j.viewOf(e.Agent, e.State), e)
	case *state.StateFinished:
		if v != nil {
			word := "ok"
			if !b.OK {
				word = "failed"
			}
			j.removeAgent(v, fmt.Sprintf("%s: %s after %s, %s", v.title(), word, formatMillis(b.DurationMS), b.Spent))
		}
	case *state.AgentFinished:
		if v != nil {
			j.interrupt(v)
		}
	case *state.RunFinished:
		j.interrupt(slices.Clone(j.console.active)...)
		j.console.printPending()
		if b.Result != nil && *b.Result != "" {
			if err := j.console.flush(); err != nil {
				return err
			}
			j.log.Group("result")
			for line := range strings.Lines(shortenMiddle(string(*b.Result), maxGroup)) {
				j.log.PrintStyled(cutOutput(line, maxImportantText))
			}
			j.log.EndGroup()
		}
	}
	return j.console.Report(e)
}

// Note shows a message about an agent that is not part of an event. If the agent is active, the
// message is a line of its group, otherwise a line outside of groups.
func (j *JobReporter) Note(agent, stateName, text string) error {
	if v := j.console.find(agent); v != nil {
		j.print(v, j.console.colorize(markNote, string(markNote))+" "+j.formatText(text))
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
	j.console.print(line{agent: runAgent, mark: "next:", figures: withoutBackticks(text), rank: rankImportant, isOurs: true})
	return j.console.flush()
}

// Close marks the states of all active agents as interrupted, ends their groups, and closes the
// console.
func (j *JobReporter) Close() error {
	j.interrupt(slices.Clone(j.console.active)...)
	return j.console.Close()
}

// viewOf returns the view of an agent. It adds the agent if necessary: after a resume, the agent's
// first event may not be the start of a state. Adding an agent ends the open group. The agent's lines
// are printed immediately if no other agent is active. Otherwise, the lines of all active agents are
// stored from now on.
func (j *JobReporter) viewOf(agent, stateName string) *agentView {
	v := j.console.find(agent)
	if v != nil && v.lines.First.Bytes > 0 { // otherwise the console has just added it
		return v
	}
	j.log.EndGroup()
	j.live = nil
	v = j.console.activate(agent, stateName)
	half := runner.ExcerptLimit{Bytes: maxGroup / 2}
	if j.console.o.Verbose {
		half.Bytes = maxVerboseGroup / 2
	}
	v.lines.First, v.lines.Last = half, half
	if len(j.console.active) == 1 {
		j.live = v
	}
	return v
}

// showEvent shows an event of an active agent. Verdicts are shown outside of groups, all other
// events in the agent's group.
func (j *JobReporter) showEvent(v *agentView, e state.Event) error {
	if b, ok := e.Body.(*state.NodeAttempt); ok {
		for text := range strings.Lines(plainLines(failedOutput(b))) {
			j.print(v, cutOutput(text, maxImportantText))
		}
		return j.console.Report(e)
	}
	l := j.console.describe(e)
	j.console.updateActive(e, l)
	if l.mark == markSays {
		j.print(v, j.formatText(l.text))
	} else {
		j.print(v, j.console.colorize(l.mark, string(l.mark))+" "+cutMiddle(l.text, maxImportantText))
	}
	return nil
}

// formatText returns an agent's text as one plain line, shortened if it is too long.
func (j *JobReporter) formatText(text string) string {
	if j.console.o.Verbose {
		return cutMiddle(text, maxImportantText)
	}
	return cut(text, agentTextWidth)
}

// print prints a line of the live agent, after opening its group if necessary, and stores lines of
// other agents. The line must be plain text. Since the first line opens the group, a state without
// lines has no group. The session and the directory come before the first line.
func (j *JobReporter) print(v *agentView, lines ...string) {
	if v.facts != "" {
		lines = slices.Insert(lines, 0, v.facts)
		v.facts = ""
	}
	for _, line := range lines {
		if j.live != v {
			v.lines.Add(j.console.dim(name(v.id)+" │") + " " + line)
		} else if v.lines.Admit(line) {
			j.beginGroup(v)
			j.log.PrintStyled(line)
		}
	}
}

// interrupt shows that the states of active agents were interrupted, and removes the agents.
func (j *JobReporter) interrupt(views ...*agentView) {
	for _, v := range views {
		j.print(v, j.console.colorize(markRerun, "interrupted"))
		j.removeAgent(v, v.title()+": interrupted")
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
		j.log.Group(title)
	case !v.lines.IsEmpty():
		j.beginGroup(v)
	}
	v.lines.Each(j.log.PrintStyled)
	j.log.EndGroup()
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
	j.log.Group(title)
}

// title returns the title of an agent's group.
func (v *agentView) title() string { return name(v.id) + " at " + name(v.state) }

// groupLog is a JobLog in which a new group ends the open one. A Console calls its methods Write and
// PrintOwn, which print outside of groups.
type groupLog struct {
	JobLog
	isOpen bool // whether a group is open
}

// Write closes the open group and prints each line of text.
func (g *groupLog) Write(text []byte) (int, error) {
	g.EndGroup()
	for line := range strings.Lines(string(text)) {
		g.PrintStyled(strings.TrimSuffix(line, "\n"))
	}
	return len(text), nil
}

// PrintOwn closes the open group and prints a line that consists of raymond's own words and of names.
func (g *groupLog) PrintOwn(line string) {
	g.EndGroup()
	g.JobLog.PrintOwn(line)
}

// Group closes the open group and opens another one.
func (g *groupLog) Group(title string) {
	g.EndGroup()
	g.isOpen = true
	g.JobLog.Group(title)
}

// EndGroup closes the open group, if there is one.
func (g *groupLog) EndGroup() {
	if g.isOpen {
		g.isOpen = false
		g.JobLog.EndGroup()
	}
}
