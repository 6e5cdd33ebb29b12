package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/reel"
	"github.com/raymond-action/raymond-action/state"
)

// JobOptions say for whom a Job writes.
type JobOptions struct {
	WorkflowID string
	Verbose    bool // also where agents work, what was stored, and far more lines of a state
	Color      bool // never under NO_COLOR
	// Spent is what the run has cost before its first event here, and Unfinished the
	// part of it that was spent in state executions which go on.
	Spent      state.Spent
	Unfinished []state.Unfinished
}

// Job tells a run in the log of a job: a line for each state that starts and
// ends, in the open, and for each a group with what went on in it. The group of
// a state that is alone is there while it works; those of states that work at
// once come one after the other, each when its state has ended, and their lines
// begin with the agent. Long groups lose their middle.
//
// When Tick is called more often than that, a line in the open says of each
// agent at work what it does, at least every 30 seconds: readers see it without
// unfolding anything. The group that it interrupts goes on after it.
type Job struct {
	log    JobLog
	o      JobOptions
	live   *scene   // the one whose lines are shown as they come
	isOpen bool     // its group
	scenes []*scene // those of agents at work, in the order of their beginning
	now    time.Time
	ticked time.Time
	budget state.USD
	spent  state.Spent            // in the states that ended, and before
	owed   map[string]state.Spent // of that, in executions that go on, by agent
	warned state.Spent            // as a limit said
	// words words the lines outside of groups.
	words *Console
}

// scene is a state execution under way.
type scene struct {
	agent, state string
	began, shown time.Time // shown is the last line about it in the open
	lines        reel.Reel
	facts        string // to be told before anything else
	opened       int    // how often its group was
	doing
	attempt int         // done so far
	spent   state.Spent // in them
}

const (
	jobWidth  = 160 // columns of a line in the open; those of failures are longer
	saidWidth = 400 // columns of what agents say

	// How many bytes of a state's lines a job log shows: half of them are for the
	// first lines, half for the last.
	mostReel    = 64 << 10
	mostVerbose = 4 << 20
)

// NewJob returns a Job that writes to a job log.
func NewJob(log JobLog, o JobOptions) *Job {
	j := &Job{log: log, o: o, spent: o.Spent, owed: map[string]state.Spent{}}
	for _, u := range o.Unfinished {
		j.owed[u.Agent] = u.Spent()
	}
	j.words = NewConsole(inTheOpen{j}, ConsoleOptions{Width: jobWidth, Color: o.Color, Verbose: o.Verbose, WorkflowID: o.WorkflowID})
	j.words.isJob = true
	return j
}

// inTheOpen is the writer of the Console that words lines.
type inTheOpen struct{ j *Job }

func (w inTheOpen) Write(text []byte) (int, error) {
	w.j.closeGroup()
	for line := range strings.Lines(string(text)) {
		w.j.print(strings.TrimSuffix(line, "\n"))
	}
	return len(text), nil
}

// Say writes a line in which others chose no more than names.
func (w inTheOpen) Say(line string) {
	w.j.closeGroup()
	w.j.log.Say(w.j.visible(line))
}

// print shows a line, of which others wrote no control character.
func (j *Job) print(line string) {
	if j.o.Color {
		j.log.Paint(j.visible(line))
		return
	}
	j.log.Print(line)
}

// visible has grey for dim, which GitHub's viewer does not show.
func (j *Job) visible(line string) string { return strings.ReplaceAll(line, "\x1b[2m", "\x1b[90m") }

// Report implements Reporter.
func (j *Job) Report(e state.Event) error {
	if e.Time.After(j.now) {
		j.now = e.Time
	}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		j.budget = b.BudgetUSD
	case *state.Limit:
		if b.Which == "budget" {
			j.warned = b.Spent()
		}
	case *state.StateStarted:
		return j.begin(e, b)
	case *state.AgentOutput, *state.Reminder, *state.Retry, *state.NodeAttempt:
		return j.play(j.goesOn(e.Agent, e.State), e)
	case *state.StateFinished:
		j.end(e, b)
	case *state.AgentFinished:
		j.drop(e.Agent)
	case *state.RunFinished:
		return j.finish(b)
	}
	return j.words.Report(e)
}

// Note tells a line about an agent that is no event.
func (j *Job) Note(agent, stateName, text string) error {
	if s := j.scene(agent); s != nil {
		j.tell(s, j.words.paint(noted, string(noted))+" "+j.line(text))
		return nil
	}
	return j.words.Note(agent, stateName, text)
}

// Doing takes in what an agent does from now on.
func (j *Job) Doing(agent, stateName string, p runner.Progress) error {
	s := j.goesOn(agent, stateName)
	if p.Text != "" {
		s.said(p.Text, j.now)
	}
	if p.Doing != "" {
		s.does(p.Doing, j.now)
	}
	return nil
}

// Tick says what the agents at work are doing.
func (j *Job) Tick(now time.Time) error {
	last := j.ticked
	if last.IsZero() {
		last = j.now
	}
	j.now, j.ticked = now, now
	tick := min(now.Sub(last), sayEvery)
	for _, s := range j.scenes {
		if now.Sub(s.shown)+tick > sayEvery {
			s.shown = now
			j.closeGroup()
			j.print(j.pulse(s))
		}
	}
	return nil
}

// Close ends what is open.
func (j *Job) Close() error {
	j.dropAll()
	return j.words.Close()
}

func (j *Job) scene(agent string) *scene {
	i := slices.IndexFunc(j.scenes, func(s *scene) bool { return s.agent == agent })
	if i < 0 {
		return nil
	}
	return j.scenes[i]
}

// begin opens the group of a state that is alone; of others it only tells that
// they begin.
func (j *Job) begin(e state.Event, b *state.StateStarted) error {
	j.drop(e.Agent)
	err := j.words.Report(e)
	s := j.enter(e.Agent, e.State)
	s.began, s.facts = e.Time, "in "+b.Cwd
	if b.SessionID != "" {
		s.facts = "session " + b.SessionID + ", " + s.facts
	}
	if j.o.Verbose {
		j.tellFacts(s)
	}
	return err
}

// goesOn returns the scene of an agent at work. One that a resume takes up in
// the middle of a state began before the first event here.
func (j *Job) goesOn(agent, stateName string) *scene {
	if s := j.scene(agent); s != nil {
		return s
	}
	return j.enter(agent, stateName)
}

// enter adds a scene.
func (j *Job) enter(agent, stateName string) *scene {
	j.closeGroup()
	j.live = nil
	s := &scene{agent: agent, state: stateName, began: j.now, shown: j.now}
	half := reel.Limit{Bytes: mostReel / 2}
	if j.o.Verbose {
		half.Bytes = mostVerbose / 2
	}
	s.lines.First, s.lines.Last = half, half
	j.scenes = append(j.scenes, s)
	if len(j.scenes) == 1 {
		j.live = s
	}
	return s
}

func (s *scene) title() string { return name(s.agent) + " at " + name(s.state) }

// play tells an event of a scene: verdicts in the open, all else in its group.
func (j *Job) play(s *scene, e state.Event) error {
	l := j.words.describe(e)
	text := string(l.mark) + " " + l.text
	switch b := e.Body.(type) {
	case *state.AgentOutput:
		s.said(l.text, j.now)
		j.tell(s, j.line(l.text))
	case *state.NodeAttempt:
		s.stumbled(text, j.now)
		s.attempt, s.spent, s.shown = b.Attempt, s.spent.Plus(b.Spent()), j.now
		for text := range strings.Lines(block(failedOutput(b))) {
			j.tell(s, cutOutput(text, vitalText))
		}
		return j.words.Report(e)
	default:
		s.stumbled(text, j.now)
		j.tell(s, j.words.paint(l.mark, string(l.mark))+" "+cutMiddle(l.text, vitalText))
	}
	return nil
}

// line makes a line of what an agent said.
func (j *Job) line(text string) string {
	if j.o.Verbose {
		return cutMiddle(text, vitalText)
	}
	return cut(text, saidWidth)
}

// tellFacts begins a group with where its state works, once.
func (j *Job) tellFacts(s *scene) {
	if facts := s.facts; facts != "" {
		s.facts = ""
		j.tell(s, j.dim(cutMiddle(facts, vitalText)))
	}
}

// tell shows a line of the scene that is live, and keeps that of others. Its
// text is plain. A state of which nothing is told has no group.
func (j *Job) tell(s *scene, line string) {
	j.tellFacts(s)
	if j.live != s {
		s.lines.Add(j.dim(name(s.agent)+" │") + " " + line)
		return
	}
	if s.lines.Takes(line) {
		j.openGroup(s)
		j.print(line)
	}
}

// dim paints our own words that matter little.
func (j *Job) dim(text string) string { return j.words.paint(began, text) }

// end closes or prints the group of a state that ended.
func (j *Job) end(e state.Event, b *state.StateFinished) {
	j.spent = j.spent.Plus(b.Spent().Minus(j.owed[e.Agent]))
	delete(j.owed, e.Agent)
	s := j.scene(e.Agent)
	if s == nil {
		return
	}
	word := "ok"
	if !b.OK {
		word = "failed"
	}
	j.leave(s, fmt.Sprintf("%s: %s after %s, %s", s.title(), word, millis(b.DurationMS), b.Spent()))
}

// drop ends a scene that was cut off.
func (j *Job) drop(agent string) {
	if s := j.scene(agent); s != nil {
		j.tell(s, j.words.paint(rerun, "interrupted"))
		j.leave(s, s.title()+": interrupted")
	}
}

func (j *Job) dropAll() {
	for len(j.scenes) > 0 {
		j.drop(j.scenes[0].agent)
	}
}

// leave takes a scene off those at work and prints what is kept of its lines.
func (j *Job) leave(s *scene, title string) {
	j.scenes = slices.DeleteFunc(j.scenes, func(other *scene) bool { return other == s })
	switch {
	case s.lines.IsEmpty():
	case j.live == s:
		j.openGroup(s)
		s.lines.Each(j.print)
	default:
		j.group(title, func() { s.lines.Each(j.print) })
	}
	if j.live == s {
		j.closeGroup()
		j.live = nil
	}
}

// openGroup opens the group of the scene that is live, unless it is open.
func (j *Job) openGroup(s *scene) {
	if j.isOpen {
		return
	}
	title := s.title()
	if s.opened++; s.opened > 1 {
		title += ", after " + clock(j.now.Sub(s.began))
	}
	j.isOpen = true
	j.log.Group(title)
}

// closeGroup closes the group that is open, if there is one.
func (j *Job) closeGroup() {
	if j.isOpen {
		j.isOpen = false
		j.log.EndGroup()
	}
}

// group prints a group at once, between the lines of the one that is open.
func (j *Job) group(title string, lines func()) {
	j.closeGroup()
	j.log.Group(title)
	lines()
	j.log.EndGroup()
}

// finish tells how the run went.
func (j *Job) finish(b *state.RunFinished) error {
	j.dropAll()
	j.words.settleAll()
	if b.Result != nil && *b.Result != "" {
		if err := j.words.flush(); err != nil {
			return err
		}
		j.group("result", func() { j.result(string(*b.Result)) })
	}
	l := j.words.last(b)
	l.uncut = "" // Next says it
	j.words.print(l)
	return j.words.flush()
}

// Next tells what can be done with the run.
func (j *Job) Next(text string) error {
	if text == "" {
		return nil
	}
	j.words.print(line{agent: runAgent, mark: "next:", uncut: uncoded(text), rank: vital, isOurs: true})
	return j.words.flush()
}

func (j *Job) result(text string) {
	half := reel.Limit{Bytes: mostReel / 2}
	lines := reel.Reel{First: half, Last: half}
	for line := range strings.Lines(keep(text, mostReel).String()) {
		lines.Add(cutOutput(line, vitalText))
	}
	lines.Each(j.print)
}
