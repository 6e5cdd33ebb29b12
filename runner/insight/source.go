package insight

import (
	"cmp"
	"iter"
	"slices"
	"time"

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
	// Snapshots has the files that executions changed; nil where there are none.
	Snapshots Snapshots
	// Hide replaces secrets; nil leaves texts as they are.
	Hide func(string) string
}

// Transcripts are the conversations of one agent CLI, as runner.Agent has them.
type Transcripts interface {
	Abilities() runner.Abilities
	Length(c runner.Conversation) (int64, bool)
	Read(c runner.Conversation, from, to int64, each func(runner.Message) error) error
}

// Snapshots has the files that executions changed.
type Snapshots interface {
	// Files returns what an execution changed, with diffs that are bounded, and whether other
	// agents worked in the folder meanwhile. The list is nil when there is no snapshot of it.
	Files(exec int) (changed []File, isShared bool)
}

// Build gathers what is known of a run. A transcript or a snapshot that can't be read is
// named in Report.LeftOut; an event log that can't be read is an error.
func Build(s Source) (*Report, error) {
	c := newCollector()
	if err := c.addAll(s); err != nil {
		return nil, err
	}
	if s.Hide == nil {
		s.Hide = func(text string) string { return text }
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

// addAll takes what the events and the state file of a run tell.
func (c *collector) addAll(s Source) error {
	hide := s.Hide
	if hide == nil {
		hide = func(text string) string { return text }
	}
	masked := func(e state.Event) state.Event {
		if s.Hide == nil {
			return e
		}
		return e.Map(hide)
	}
	if s.Events != nil {
		for e, err := range s.Events {
			if err != nil {
				return err
			}
			c.add(masked(e))
		}
	}
	for _, e := range s.Run.Events { // a crash may have kept them from the log
		c.add(masked(e))
	}
	c.addRun(s.Run, hide)
	return nil
}

// statusOf is the status of a run: interrupted when nobody drives one that has not ended.
func statusOf(s Source) string {
	if s.Run.Progress.Status == state.Running && !s.IsDriven {
		return Interrupted
	}
	return string(s.Run.Progress.Status)
}

// report is what events and the state file tell.
func (c *collector) report(s Source) *Report {
	run := s.Run
	r := &Report{
		WorkflowID: run.WorkflowID, Status: statusOf(s), Reason: s.Hide(run.Progress.Reason),
		Scope: s.Hide(run.Scope), Entry: run.Entry, Meta: hidden(run.Meta, s.Hide), Created: run.Created, Finished: c.now,
		Outcome: c.outcome, Spent: spentOf(run.Spent()), BudgetUSD: run.Options.BudgetUSD,
		Parts: c.parts.all, Waits: c.waits.all, Limits: c.limits, LeftOut: []string{},
	}
	r.InheritedUSD, r.RerunOf = run.InheritedUSD, rerunOf(run)
	if run.Progress.Status == state.Running {
		r.Outcome = ""
	}
	if text, ok := run.Result(); ok {
		r.Result = s.Hide(string(text))
	}
	for _, x := range c.execs {
		if x.Ended.IsZero() && x.Status == Running && !s.IsDriven {
			x.Status = Interrupted
		}
		r.Executions = append(r.Executions, *x)
	}
	slices.SortFunc(r.Executions, func(a, b Exec) int { return cmp.Compare(a.N, b.N) })
	c.parts.close(c.now, s.IsDriven)
	r.Agents = c.agents.rows(r.Executions)
	r.Costs = costsOf(r.Executions, run.Sums())
	for _, x := range r.Executions {
		r.Spent.Tokens = plusTokens(r.Spent.Tokens, x.Spent.Tokens)
	}
	return r
}

// rerunOf is the run, and the execution, that a run was begun from again; nil for none.
func rerunOf(run *state.Run) *RerunOf {
	if run.RerunOf == nil {
		return nil
	}
	return &RerunOf{WorkflowID: run.RerunOf.WorkflowID, Exec: run.RerunOf.Exec}
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

// spentOf is what something cost, without tokens.
func spentOf(s state.Spent) Spent {
	return Spent{USD: s.USD, Estimated: s.Estimated, Unknown: s.Unknown, Unpriced: s.Unpriced}
}

// plus returns the sum of both.
func (s Spent) plus(t Spent) Spent {
	sum := state.Spent{USD: s.USD, Estimated: s.Estimated, Unknown: s.Unknown, Unpriced: s.Unpriced}.Plus(
		state.Spent{USD: t.USD, Estimated: t.Estimated, Unknown: t.Unknown, Unpriced: t.Unpriced})
	out := spentOf(sum)
	out.Tokens = plusTokens(s.Tokens, t.Tokens)
	return out
}

// plusTokens returns the sum of both, nil when neither is known.
func plusTokens(a, b *state.Tokens) *state.Tokens {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &state.Tokens{Input: a.Input + b.Input, Cached: a.Cached + b.Cached, Output: a.Output + b.Output}
}

// durationOf is how long an execution took, up to now if it has not ended.
func durationOf(x *Exec, now time.Time) time.Duration {
	end := x.Ended
	if end.IsZero() {
		end = now
	}
	return max(0, end.Sub(x.Started))
}
