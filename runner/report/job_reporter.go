package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// JobReporter shows a run in the log of a CI job: a line for the start and the end of each state,
// and a group with the events of the state. The group of a state that runs alone grows while the
// state runs. If states run in parallel, each group is printed at the end of its state, and its
// lines start with the agent. Long groups are shortened in the middle.
//
// At least every 30 seconds, if Tick is called more often than that, a line outside of groups shows
// the activity of each active agent. It interrupts the open group, which continues in a new one.
type JobReporter struct {
	log     *groupLog
	o       ConsoleOptions
	live    *agentView // agent whose lines are shown at once; nil for none
	console *Console   // writes the lines outside of groups, and tracks the active agents
}

const (
	jobWidth       = 160 // columns of an agent's activity
	agentTextWidth = 400 // columns of an agent's text

	// Bytes of a state's lines in a job log, half for the first and half for the last lines.
	maxGroup        = 64 << 10
	maxVerboseGroup = 4 << 20
)

// NewJobReporter returns a JobReporter that writes to a job log. If o is Verbose, it shows many
// more lines of a state.
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

// Note shows a line about an agent that is not an event.
func (j *JobReporter) Note(agent, stateName, text string) error {
	if v := j.console.find(agent); v != nil {
		j.print(v, j.colorize(markNote, string(markNote))+" "+j.formatText(text))
		return nil
	}
	return j.console.Note(agent, stateName, text)
}

// Doing updates the activity of an agent.
func (j *JobReporter) Doing(agent, stateName string, p runner.Progress) error {
	if p.Tool != nil {
		return nil
	}
	j.viewOf(agent, stateName).activity.update(p, j.console.now)
	return nil
}

// Tick shows the activities of the active agents.
func (j *JobReporter) Tick(now time.Time) error { return j.console.Tick(now) }

// Next shows the next steps for the run.
func (j *JobReporter) Next(text string) error {
	if text == "" {
		return nil
	}
	j.console.print(line{agent: runAgent, mark: "next:", uncut: withoutBackticks(text), rank: rankImportant, isOurs: true})
	return j.console.flush()
}

// Close ends all open groups.
func (j *JobReporter) Close() error {
	j.interruptAll()
	return j.console.Close()
}

// viewOf returns the view of an agent. It adds one if necessary: after a resume, the first event
// may be from within a state.
func (j *JobReporter) viewOf(agent, stateName string) *agentView {
	if v := j.console.find(agent); v != nil {
		return v
	}
	return j.addAgent(agent, stateName)
}

// addAgent adds an agent. If it is the only active one, its lines are shown at once.
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

// beginState shows the start of a state.
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

// showEvent shows an event of an active agent: verdicts outside of groups, everything else in its
// group.
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

// formatText returns a line of an agent's text.
func (j *JobReporter) formatText(text string) string {
	if j.o.Verbose {
		return cutMiddle(text, maxImportantText)
	}
	return cut(text, agentTextWidth)
}

// print shows a line of the live agent, and stores lines of other agents. The line must be plain
// text. A state without lines has no group.
func (j *JobReporter) print(v *agentView, line string) {
	if facts := v.facts; facts != "" { // the state's directory is shown first
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

// dim colors unimportant text of raymond.
func (j *JobReporter) dim(text string) string { return j.colorize(markStart, text) }

// endState closes or prints the group of a state.
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

// interrupt ends the group of an agent that was interrupted. It does nothing if v is nil.
func (j *JobReporter) interrupt(v *agentView) {
	if v != nil {
		j.print(v, j.colorize(markRerun, "interrupted"))
		j.removeAgent(v, v.title()+": interrupted")
	}
}

func (j *JobReporter) interruptAll() {
	for _, v := range slices.Clone(j.console.active) {
		j.interrupt(v)
	}
}

// removeAgent removes an agent, and prints its stored lines.
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

// beginGroup opens a group for the live agent, if none is open.
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

func (v *agentView) title() string { return name(v.id) + " at " + name(v.state) }

// endRun shows how the run ended.
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
