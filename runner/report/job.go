package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// JobOptions say for whom a Job writes.
type JobOptions struct {
	WorkflowID string
	Verbose    bool // also what agents say, where they work, and what was stored
	// Resume says how to go on with the run. It is told at the end of one that
	// is not completed.
	Resume string
}

// Job tells a run in the log of a job: a line for each state that starts and
// ends, in the open, and for each a group with what went on in it. The group of
// a state that is alone is there while it works; those of states that work at
// once come one after the other, each when its state has ended, and their lines
// begin with the agent. Long groups lose their middle. When Tick is called more
// often than that, something is said of each agent at work at least every 30
// seconds.
type Job struct {
	log    JobLog
	o      JobOptions
	open   *scene   // the group that is open
	scenes []*scene // those of agents at work, in the order of their beginning
	now    time.Time
	ticked time.Time
	budget state.USD
	// words words the lines outside of groups.
	words *Console
}

// scene is a state execution under way.
type scene struct {
	agent, state string
	began, said  time.Time
	last         string // what is known to have gone on
	lines        reel
	facts        string
}

// jobWidth is the columns of a line; those of failures are longer.
const jobWidth = 160

// NewJob returns a Job that writes to a job log.
func NewJob(log JobLog, o JobOptions) *Job {
	words := NewConsole(printer{log}, ConsoleOptions{Width: jobWidth, Verbose: o.Verbose, WorkflowID: o.WorkflowID})
	return &Job{log: log, o: o, words: words}
}

// printer is the writer of the Console that words lines.
type printer struct{ log JobLog }

func (p printer) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		p.log.Print(strings.TrimSuffix(line, "\n"))
	}
	return len(text), nil
}

// Report implements Reporter.
func (j *Job) Report(e state.Event) error {
	if e.Time.After(j.now) {
		j.now = e.Time
	}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		j.budget = b.BudgetUSD
	case *state.StateStarted:
		return j.begin(e, b)
	case *state.AgentOutput, *state.Reminder, *state.Retry, *state.NodeAttempt:
		if s := j.scene(e.Agent); s != nil {
			j.play(s, e)
			return nil
		}
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
		j.tell(s, string(noted)+" "+text)
		return nil
	}
	return j.words.Note(agent, stateName, text)
}

// Tick says which agents are still at work.
func (j *Job) Tick(now time.Time) error {
	last := j.ticked
	if last.IsZero() {
		last = j.now
	}
	j.now, j.ticked = now, now
	tick := min(now.Sub(last), sayEvery)
	for _, s := range j.scenes {
		if now.Sub(s.said)+tick > sayEvery {
			s.said = now
			j.log.Print(s.progress(now))
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
	j.closeGroup()
	s := &scene{agent: e.Agent, state: e.State, began: e.Time, said: e.Time, facts: "in " + b.Cwd}
	if b.SessionID != "" {
		s.facts = "session " + b.SessionID + ", " + s.facts
	}
	j.scenes = append(j.scenes, s)
	if err := j.words.Report(e); err != nil {
		return err
	}
	if len(j.scenes) == 1 {
		j.open = s
		j.log.Group(s.title())
	}
	j.tell(s, s.facts)
	return nil
}

func (s *scene) title() string { return name(s.agent) + " at " + name(s.state) }

// play tells an event of a scene.
func (j *Job) play(s *scene, e state.Event) {
	l := j.words.describe(e)
	_, isOutput := e.Body.(*state.AgentOutput)
	if isOutput {
		s.last = cut(l.text, jobWidth)
	} else {
		s.last = cut(string(l.mark)+" "+l.text, jobWidth)
	}
	switch {
	case !isOutput:
		j.tell(s, string(l.mark)+" "+l.text)
	case j.o.Verbose:
		j.tell(s, l.text)
	}
	if b, ok := e.Body.(*state.NodeAttempt); ok {
		for text := range strings.Lines(block(failedOutput(b))) {
			j.tell(s, "  "+text)
		}
	}
}

// tell prints a line of the scene whose group is open, and keeps that of others.
func (j *Job) tell(s *scene, text string) {
	text = cutMiddle(text, vitalText)
	if j.open != s {
		s.lines.add(name(s.agent) + " │ " + text)
		return
	}
	s.said = j.now
	if s.lines.takes(text) {
		j.log.Print(text)
	}
}

// progress says that an agent is at work.
func (s *scene) progress(now time.Time) string {
	text := s.title() + ": working for " + clock(now.Sub(s.began))
	if s.last != "" {
		text += ", last: " + s.last
	}
	return text
}

// end closes or prints the group of a state that ended.
func (j *Job) end(e state.Event, b *state.StateFinished) {
	s := j.scene(e.Agent)
	if s == nil {
		return
	}
	word := "ok"
	if !b.OK {
		word = "failed"
	}
	j.leave(s, fmt.Sprintf("%s: %s after %s, %s", s.title(), word, millis(b.DurationMS), dollars(b.CostUSD)))
}

// drop ends a scene that was cut off.
func (j *Job) drop(agent string) {
	if s := j.scene(agent); s != nil {
		j.tell(s, "interrupted")
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
	if j.open == s {
		s.lines.each(j.log.Print)
		j.closeGroup()
		return
	}
	if !s.lines.isEmpty() {
		j.group(title, func() { s.lines.each(j.log.Print) })
	}
}

// closeGroup closes the group that is open, if there is one.
func (j *Job) closeGroup() {
	if j.open != nil {
		j.open = nil
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

// finish tells how the run went and what to do next.
func (j *Job) finish(b *state.RunFinished) error {
	j.dropAll()
	j.words.settleAll()
	if b.Result != nil && *b.Result != "" {
		if err := j.words.flush(); err != nil {
			return err
		}
		j.group("result", func() { j.result(string(*b.Result)) })
	}
	j.words.print(lastLine(b, j.budget, ""))
	if b.Status != state.Completed && j.o.Resume != "" {
		j.words.print(line{agent: runAgent, mark: "to go on:", text: j.o.Resume, rank: vital})
	}
	return j.words.flush()
}

func (j *Job) result(text string) {
	var lines reel
	for line := range strings.Lines(keep(text, mostReel).String()) {
		lines.add(cut(line, vitalText))
	}
	lines.each(j.log.Print)
}
