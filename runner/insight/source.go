package insight

import (
	"cmp"
	"iter"
	"slices"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Source is what a report is made from.
type Source struct {
	Run      *state.Run // is not changed
	IsDriven bool       // a process drives the run at this moment
	// Events yields the event log in order, up to its first error; nil for none. Events that
	// the run itself has may be missing.
	Events iter.Seq2[state.Event, error]
	// History yields the steps of the run as far as they are kept, up to the first error; nil
	// for none. It tells where in transcripts executions begin, and what was answered.
	History iter.Seq2[state.HistoryStep, error]
	// Agents are the agent CLIs by name, whose transcripts are read. The conversations of one
	// that is missing are left out, and that is said.
	Agents map[string]Transcripts
	// Files has what executions changed, by their numbers, with diffs that are bounded; nil where
	// there are no snapshots.
	Files map[int]Changed
	// Hide replaces secrets; nil leaves texts as they are.
	Hide func(string) string
}

// Transcripts are the conversations of one agent CLI, as runner.Agent has them.
type Transcripts interface {
	Abilities() runner.Abilities
	Read(c runner.Conversation, from, to int64, each func(runner.Message) error) error
}

// Changed are the files that an execution changed.
type Changed struct {
	Files    []File
	IsShared bool // other agents worked in the folder meanwhile
}

// Build gathers what is known of a run. A transcript or a snapshot that can't be read is
// named in Report.LeftOut; an event log that can't be read is an error.
func Build(s Source) (*Report, error) {
	if s.Hide == nil {
		s.Hide = func(text string) string { return text }
	}
	c := newCollector()
	if err := c.addAll(s); err != nil {
		return nil, err
	}
	r := c.report(s)
	past, err := pastOf(s)
	if err != nil {
		r.leaveOut("The history of the run can't be read: %s", short(s.Hide(err.Error()), 300))
	}
	past.giveAnswers(r.Waits)
	pot := bound(r)
	pot -= gatherFiles(r, s, pot/4)
	gatherMessages(r, s, past.places, pot)
	return r, nil
}

// Executions returns the state executions of a run, in the order of their numbers, as far as
// the events and the run itself tell of them.
func Executions(run *state.Run, isDriven bool, events iter.Seq2[state.Event, error]) ([]Exec, error) {
	c := newCollector()
	err := c.addAll(Source{Run: run, Events: events, Hide: func(text string) string { return text }})
	return c.executions(isDriven), err
}

// addAll takes what the events and the state file of a run tell.
func (c *collector) addAll(s Source) error {
	if s.Events != nil {
		for e, err := range s.Events {
			if err != nil {
				return err
			}
			c.add(e.Map(s.Hide))
		}
	}
	for _, e := range s.Run.Events { // a crash may have kept them from the log
		c.add(e.Map(s.Hide))
	}
	c.addRun(s.Run, s.Hide)
	return nil
}

// report is what events and the state file tell.
func (c *collector) report(s Source) *Report {
	run := s.Run
	r := &Report{
		WorkflowID: run.WorkflowID, Status: string(run.Progress.Status), Reason: s.Hide(run.Progress.Reason),
		Scope: s.Hide(run.Scope), Entry: run.Entry, Meta: hidden(run.Meta, s.Hide), Created: run.Created, Finished: c.now,
		Outcome: c.outcome, Spent: Spent{Spent: run.Spent()}, InheritedUSD: run.InheritedUSD, BudgetUSD: run.Options.BudgetUSD,
		Parts: c.parts.all, Waits: c.waits.all, Limits: c.limits, LeftOut: []string{},
	}
	if of := run.RerunOf; of != nil {
		r.RerunOf = &RerunOf{of.WorkflowID, of.Exec}
	}
	if run.Progress.Status == state.Running {
		r.Outcome = ""
		if !s.IsDriven { // nobody drives it, and it has not ended
			r.Status = Interrupted
		}
	}
	if text, ok := run.Result(); ok {
		r.Result = s.Hide(string(text))
	}
	r.Executions = c.executions(s.IsDriven)
	if !s.IsDriven {
		c.parts.cutOff(c.now)
	}
	r.Agents = c.agents.rows(r.Executions)
	r.Costs = costsOf(r.Executions, run.Sums())
	for _, x := range r.Executions {
		r.Spent.Tokens = plusTokens(r.Spent.Tokens, x.Spent.Tokens)
	}
	return r
}

// executions returns what there was, in order. What has not ended was cut off unless the run is
// driven.
func (c *collector) executions(isDriven bool) []Exec {
	all := make([]Exec, 0, len(c.execs))
	for _, x := range c.execs {
		if x.Ended.IsZero() && x.Status == Running && !isDriven {
			x.Status = Interrupted
		}
		all = append(all, *x)
	}
	slices.SortFunc(all, func(a, b Exec) int { return cmp.Compare(a.N, b.N) })
	return all
}

// hidden returns a copy of variables with their values masked.
func hidden(vars map[string]string, hide func(string) string) map[string]string {
	if len(vars) == 0 {
		return nil
	}
	out := make(map[string]string, len(vars))
	for name, value := range vars {
		out[name] = hide(value)
	}
	return out
}

// plus returns the sum of both.
func (s Spent) plus(t Spent) Spent {
	return Spent{s.Spent.Plus(t.Spent), plusTokens(s.Tokens, t.Tokens)}
}

// plusTokens returns the sum of both, nil when neither is known.
func plusTokens(a, b *state.Tokens) *state.Tokens {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &state.Tokens{Input: a.Input + b.Input, Cached: a.Cached + b.Cached, Output: a.Output + b.Output}
}
