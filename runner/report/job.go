package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// JobReporter shows a run in the log of a job: a line outside of groups for each state that
// starts and ends, and for each state a group with what happened in it. The group of
// a state that works alone grows while it works. Of states that work at the same time
// each group is printed when its state has ended, and its lines begin with the agent.
// Long groups lose their middle.
//
// At least every 30 seconds, if Tick is called more often than that, a line outside
// of groups says of each active agent what it does. It interrupts the group that is
// open, which continues after it in a new one.
type JobReporter struct {
	log  *groupLog
	o    ConsoleOptions
	live *agentView // the one whose lines are shown as they come
	open *Console   // writes the lines outside of groups, and knows what agents do
}

const (
	jobWidth  = 160 // columns of what an agent does
	saidWidth = 400 // columns of what agents say

	// How many bytes of a state's lines a job log shows: half of them are for the
	// first lines, half for the last.
	maxReel    = 64 << 10
	maxVerbose = 4 << 20
)

// NewJobReporter returns a Job that writes to a job log. One that is Verbose also shows far more lines of
// a state.
func NewJobReporter(log JobLog, m *Model, o ConsoleOptions) *JobReporter {
	j := &JobReporter{log: &groupLog{log: log}, o: o}
	j.open = NewConsole(j.log, m, o)
	j.open.isJob = true
	return j
}

// Report implements Reporter.
func (j *JobReporter) Report(e state.Event) error {
	if e.Time.After(j.open.now) {
		j.open.now = e.Time
	}
	switch b := e.Body.(type) {
	case *state.StateStarted:
		return j.begin(e, b)
	case *state.AgentOutput, *state.Reminder, *state.Retry, *state.NodeAttempt:
		return j.tell(j.view(e.Agent, e.State), e)
	case *state.StateFinished:
		j.end(e, b)
	case *state.AgentFinished:
		j.interrupt(j.open.find(e.Agent))
	case *state.RunFinished:
		return j.finish(e, b)
	}
	return j.open.Report(e)
}

// Note shows a line about an agent that is not an event.
func (j *JobReporter) Note(agent, stateName, text string) error {
	if v := j.open.find(agent); v != nil {
		j.print(v, j.paint(noted, string(noted))+" "+j.said(text))
		return nil
	}
	return j.open.Note(agent, stateName, text)
}

// Doing remembers what an agent does from now on.
func (j *JobReporter) Doing(agent, stateName string, p runner.Progress) error {
	if p.Tool != nil {
		return nil
	}
	j.view(agent, stateName).doing.note(p, j.open.now)
	return nil
}

// Tick says what the active agents are doing.
func (j *JobReporter) Tick(now time.Time) error { return j.open.Tick(now) }

// Next shows what can be done with the run.
func (j *JobReporter) Next(text string) error {
	if text == "" {
		return nil
	}
	j.open.print(line{agent: runAgent, mark: "next:", uncut: withoutBackticks(text), rank: vital, isOurs: true})
	return j.open.flush()
}

// Close ends what is open.
func (j *JobReporter) Close() error {
	j.interruptAll()
	return j.open.Close()
}

// view is what is known of an agent that may be at work since before the first event here, as after a resume.
func (j *JobReporter) view(agent, stateName string) *agentView {
	if v := j.open.find(agent); v != nil {
		return v
	}
	return j.add(agent, stateName)
}

// add begins to show what an agent does. Its lines are shown as they come if it is alone.
func (j *JobReporter) add(agent, stateName string) *agentView {
	j.log.endGroup()
	j.live = nil
	v := j.open.activate(agent, stateName)
	half := runner.ExcerptLimit{Bytes: maxReel / 2}
	if j.o.Verbose {
		half.Bytes = maxVerbose / 2
	}
	v.lines.First, v.lines.Last = half, half
	if len(j.open.active) == 1 {
		j.live = v
	}
	return v
}

// begin shows that a state begins.
func (j *JobReporter) begin(e state.Event, b *state.StateStarted) error {
	j.interrupt(j.open.find(e.Agent))
	err := j.open.Report(e)
	v := j.add(e.Agent, e.State)
	facts := folder(b)
	if b.SessionID != "" {
		facts = "session " + b.SessionID + ", " + facts
	}
	if facts = j.dim(cutMiddle(facts, vitalText)); j.o.Verbose {
		j.print(v, facts)
	} else {
		v.facts = facts
	}
	return err
}

// tell shows an event of an agent at work: verdicts outside of groups, all else in its
// group.
func (j *JobReporter) tell(v *agentView, e state.Event) error {
	l := j.open.o.describe(e)
	switch b := e.Body.(type) {
	case *state.AgentOutput:
		j.open.note(e, l)
		j.print(v, j.said(l.text))
	case *state.NodeAttempt:
		for text := range strings.Lines(block(failedOutput(b))) {
			j.print(v, cutOutput(text, vitalText))
		}
		return j.open.Report(e)
	default:
		j.open.note(e, l)
		j.print(v, j.paint(l.mark, string(l.mark))+" "+cutMiddle(l.text, vitalText))
	}
	return nil
}

// said returns a line of what an agent said.
func (j *JobReporter) said(text string) string {
	if j.o.Verbose {
		return cutMiddle(text, vitalText)
	}
	return cut(text, saidWidth)
}

// print shows a line of the agent that is live, and keeps that of others. Its
// text is plain. A state without lines has no group.
func (j *JobReporter) print(v *agentView, line string) {
	if facts := v.facts; facts != "" { // where its state works comes first
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

func (j *JobReporter) paint(m mark, text string) string { return j.open.layout.paint(m, text) }

// dim paints text of ours that matters little.
func (j *JobReporter) dim(text string) string { return j.paint(began, text) }

// end closes or prints the group of a state that ended.
func (j *JobReporter) end(e state.Event, b *state.StateFinished) {
	v := j.open.find(e.Agent)
	if v == nil {
		return
	}
	word := "ok"
	if !b.OK {
		word = "failed"
	}
	j.remove(v, fmt.Sprintf("%s: %s after %s, %s", v.title(), word, millis(b.DurationMS), b.Spent))
}

// interrupt ends what is shown of an agent that was cut off; nil for none.
func (j *JobReporter) interrupt(v *agentView) {
	if v != nil {
		j.print(v, j.paint(rerun, "interrupted"))
		j.remove(v, v.title()+": interrupted")
	}
}

func (j *JobReporter) interruptAll() {
	for _, v := range slices.Clone(j.open.active) {
		j.interrupt(v)
	}
}

// remove ends what is shown of an agent, and prints the lines of it that were kept.
func (j *JobReporter) remove(v *agentView, title string) {
	j.open.deactivate(v.id)
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

// beginGroup opens the group of the agent that is live, unless it is open.
func (j *JobReporter) beginGroup(v *agentView) {
	if j.log.isOpen {
		return
	}
	title := v.title()
	if v.opened++; v.opened > 1 {
		title += ", after " + clock(j.open.now.Sub(v.began))
	}
	j.log.beginGroup(title)
}

func (v *agentView) title() string { return name(v.id) + " at " + name(v.state) }

// finish shows how the run ended.
func (j *JobReporter) finish(e state.Event, b *state.RunFinished) error {
	j.interruptAll()
	j.open.printPending()
	if b.Result != nil && *b.Result != "" {
		if err := j.open.flush(); err != nil {
			return err
		}
		j.log.endGroup()
		j.log.beginGroup("result")
		for line := range strings.Lines(middleOut(string(*b.Result), maxReel)) {
			j.log.print(cutOutput(line, vitalText))
		}
		j.log.endGroup()
	}
	return j.open.Report(e)
}
