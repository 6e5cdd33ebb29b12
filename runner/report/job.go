package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Job shows a run in the log of a job: a line outside of groups for each state that
// starts and ends, and for each state a group with what happened in it. The group of
// a state that works alone grows while it works. Of states that work at the same time
// each group is printed when its state has ended, and its lines begin with the agent.
// Long groups lose their middle.
//
// At least every 30 seconds, if Tick is called more often than that, a line outside
// of groups says of each active agent what it does. It interrupts the group that is
// open, which continues after it in a new one.
type Job struct {
	log    *groupLog
	o      ConsoleOptions
	live   *activity   // the one whose lines are shown as they come
	active []*activity // in the order in which they began
	open   *Console    // writes the lines outside of groups, and knows what agents do
}

// activity is a state execution that a job log shows.
type activity struct {
	agent, state string
	began        time.Time
	lines        runner.Excerpt
	facts        string // to be shown before anything else
	opened       int    // how often its group was
}

const (
	jobWidth  = 160 // columns of what an agent does
	saidWidth = 400 // columns of what agents say

	// How many bytes of a state's lines a job log shows: half of them are for the
	// first lines, half for the last.
	maxReel    = 64 << 10
	maxVerbose = 4 << 20
)

// NewJob returns a Job that writes to a job log. One that is Verbose also shows far more lines of
// a state.
func NewJob(log JobLog, m *Model, o ConsoleOptions) *Job {
	j := &Job{log: &groupLog{log: log, color: o.Color}, o: o}
	j.open = NewConsole(j.log, m, o)
	j.open.isJob = true
	return j
}

// Report implements Reporter.
func (j *Job) Report(e state.Event) error {
	if e.Time.After(j.open.now) {
		j.open.now = e.Time
	}
	switch b := e.Body.(type) {
	case *state.StateStarted:
		return j.begin(e, b)
	case *state.AgentOutput, *state.Reminder, *state.Retry, *state.NodeAttempt:
		return j.tell(j.activity(e.Agent, e.State), e)
	case *state.StateFinished:
		j.end(e, b)
	case *state.AgentFinished:
		j.interrupt(e.Agent)
	case *state.RunFinished:
		return j.finish(e, b)
	}
	return j.open.Report(e)
}

// Note shows a line about an agent that is not an event.
func (j *Job) Note(agent, stateName, text string) error {
	if a := j.find(agent); a != nil {
		j.print(a, j.paint(noted, string(noted))+" "+j.said(text))
		return nil
	}
	return j.open.Note(agent, stateName, text)
}

// Doing remembers what an agent does from now on.
func (j *Job) Doing(agent, stateName string, p runner.Progress) error {
	if p.Tool != nil {
		return nil
	}
	j.activity(agent, stateName)
	j.open.does(agent, stateName, p)
	return nil
}

// Tick says what the active agents are doing.
func (j *Job) Tick(now time.Time) error { return j.open.Tick(now) }

// Next shows what can be done with the run.
func (j *Job) Next(text string) error {
	if text == "" {
		return nil
	}
	j.open.print(line{agent: runAgent, mark: "next:", uncut: withoutBackticks(text), rank: vital, isOurs: true})
	return j.open.flush()
}

// Close ends what is open.
func (j *Job) Close() error {
	j.interruptAll()
	return j.open.Close()
}

// find returns the activity of an agent, nil for none.
func (j *Job) find(agent string) *activity {
	i := slices.IndexFunc(j.active, func(a *activity) bool { return a.agent == agent })
	if i < 0 {
		return nil
	}
	return j.active[i]
}

// activity returns the activity of an agent. It begins one if there is none: after a
// resume, a state may have begun before the first event here.
func (j *Job) activity(agent, stateName string) *activity {
	if a := j.find(agent); a != nil {
		return a
	}
	return j.add(agent, stateName)
}

// add adds an activity. Its lines are shown as they come if it is alone.
func (j *Job) add(agent, stateName string) *activity {
	j.log.endGroup()
	j.live = nil
	a := &activity{agent: agent, state: stateName, began: j.open.now}
	half := runner.ExcerptLimit{Bytes: maxReel / 2}
	if j.o.Verbose {
		half.Bytes = maxVerbose / 2
	}
	a.lines.First, a.lines.Last = half, half
	j.active = append(j.active, a)
	if len(j.active) == 1 {
		j.live = a
	}
	return a
}

// begin shows that a state begins.
func (j *Job) begin(e state.Event, b *state.StateStarted) error {
	j.interrupt(e.Agent)
	err := j.open.Report(e)
	a := j.add(e.Agent, e.State)
	a.began, a.facts = e.Time, folder(b)
	if b.SessionID != "" {
		a.facts = "session " + b.SessionID + ", " + a.facts
	}
	if j.o.Verbose {
		j.printFacts(a)
	}
	return err
}

// tell shows an event of an activity: verdicts outside of groups, all else in its
// group.
func (j *Job) tell(a *activity, e state.Event) error {
	l := j.open.o.describe(e)
	switch b := e.Body.(type) {
	case *state.AgentOutput:
		j.open.note(e, l)
		j.print(a, j.said(l.text))
	case *state.NodeAttempt:
		for text := range strings.Lines(block(failedOutput(b))) {
			j.print(a, cutOutput(text, vitalText))
		}
		return j.open.Report(e)
	default:
		j.open.note(e, l)
		j.print(a, j.paint(l.mark, string(l.mark))+" "+cutMiddle(l.text, vitalText))
	}
	return nil
}

// said returns a line of what an agent said.
func (j *Job) said(text string) string {
	if j.o.Verbose {
		return cutMiddle(text, vitalText)
	}
	return cut(text, saidWidth)
}

// printFacts begins a group with where its state works, once.
func (j *Job) printFacts(a *activity) {
	if facts := a.facts; facts != "" {
		a.facts = ""
		line := j.dim(cutMiddle(facts, vitalText))
		switch {
		case j.live != a:
			j.print(a, line)
		case a.lines.Takes(line):
			j.beginGroup(a)
			j.log.log.Say(visible(line))
		}
	}
}

// print shows a line of the activity that is live, and keeps that of others. Its
// text is plain. A state without lines has no group.
func (j *Job) print(a *activity, line string) {
	j.printFacts(a)
	if j.live != a {
		a.lines.Add(j.dim(name(a.agent)+" │") + " " + line)
		return
	}
	if a.lines.Takes(line) {
		j.beginGroup(a)
		j.log.print(line)
	}
}

func (j *Job) paint(m mark, text string) string { return j.open.layout.paint(m, text) }

// dim paints text of ours that matters little.
func (j *Job) dim(text string) string { return j.paint(began, text) }

// end closes or prints the group of a state that ended.
func (j *Job) end(e state.Event, b *state.StateFinished) {
	a := j.find(e.Agent)
	if a == nil {
		return
	}
	word := "ok"
	if !b.OK {
		word = "failed"
	}
	j.remove(a, fmt.Sprintf("%s: %s after %s, %s", a.title(), word, millis(b.DurationMS), b.Spent()))
}

// interrupt ends the activity of an agent that was cut off, if there is one.
func (j *Job) interrupt(agent string) {
	if a := j.find(agent); a != nil {
		j.print(a, j.paint(rerun, "interrupted"))
		j.remove(a, a.title()+": interrupted")
	}
}

func (j *Job) interruptAll() {
	for len(j.active) > 0 {
		j.interrupt(j.active[0].agent)
	}
}

// remove removes an activity, and prints the lines of it that were kept.
func (j *Job) remove(a *activity, title string) {
	j.active = slices.DeleteFunc(j.active, func(other *activity) bool { return other == a })
	isLive := j.live == a
	switch {
	case a.lines.IsEmpty():
	case isLive:
		j.beginGroup(a)
		a.lines.Each(j.log.print)
	default:
		j.log.printGroup(title, &a.lines)
	}
	if isLive {
		j.log.endGroup()
		j.live = nil
	}
}

// beginGroup opens the group of the activity that is live, unless it is open.
func (j *Job) beginGroup(a *activity) {
	if j.log.isOpen {
		return
	}
	title := a.title()
	if a.opened++; a.opened > 1 {
		title += ", after " + clock(j.open.now.Sub(a.began))
	}
	j.log.beginGroup(title)
}

func (a *activity) title() string { return name(a.agent) + " at " + name(a.state) }

// finish shows how the run ended.
func (j *Job) finish(e state.Event, b *state.RunFinished) error {
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
