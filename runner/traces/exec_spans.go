package traces

import (
	"slices"
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Doing records a tool call as an event of the agent's current attempt.
func (r *Reporter) Doing(agent, _ string, p runner.Progress) error {
	use := p.Tool
	if x := r.options.Model.Last(agent); use == nil || x == nil || x.Status != report.Running {
		return nil
	}
	about := []attribute{textAttr("gen_ai.operation.name", "execute_tool"), textAttr("gen_ai.tool.name", shown(use.Name))}
	if r.hasToolInputs && use.Input != "" {
		about = append(about, textAttr("gen_ai.tool.call.arguments", shown(use.Input)))
	}
	if r.toolEvents[agent] == nil {
		r.toolEvents[agent] = &span{}
	}
	r.toolEvents[agent].addEvent(time.Now(), "execute_tool", about...)
	return nil
}

// attempt returns a span for a completed attempt, with its tool calls, reminders, retries and
// interruptions as events. The span starts at the end of the previous attempt, or else at the start
// of the execution.
func (r *Reporter) attempt(x *report.Exec, number int, ended time.Time) *span {
	began := x.Started
	for i := range x.Attempts {
		if x.Attempts[i].Attempt < number {
			began = x.Attempts[i].Ended
		}
	}
	s := newSpan(r.trace.AttemptSpan(x.Agent, x.N, number), r.trace.ExecSpan(x.Agent, x.N), "attempt "+strconv.Itoa(number), began)
	s.set(intAttr("raymond.attempt", number), intAttr("raymond.exec", x.N), textAttr("raymond.agent", x.Agent))
	if used := r.toolEvents[x.Agent]; used != nil {
		s.Events, s.Dropped = used.Events, used.Dropped
		delete(r.toolEvents, x.Agent)
	}
	tell := func(at time.Time, name, why string, about ...attribute) {
		if !at.Before(began) && !at.After(ended) {
			s.addEvent(at, "raymond."+name, append(about, textAttr("raymond.reason", shown(why)))...)
		}
	}
	for i, m := range x.Reminders {
		tell(m.Time, "reminder", m.Text, intAttr("raymond.reminder", i+1))
	}
	for i, m := range x.Retries {
		tell(m.Time, "retry", m.Text, intAttr("raymond.retry", i+1), intAttr("raymond.backoff_ms", m.BackoffMS))
	}
	for _, c := range x.Interruptions {
		tell(c.Time, "attempt_interrupted", c.Reason)
	}
	slices.SortStableFunc(s.Events, func(a, b event) int { return int(a.Time - b.Time) })
	return s
}

// fail adds the exit code of an execution to a span. If the execution failed, it also adds the
// error.
func (r *Reporter) fail(s *span, x *report.Exec) {
	if x.ExitCode != nil {
		s.set(intAttr("process.exit.code", *x.ExitCode))
	}
	if x.Status == report.Failed {
		s.set(textAttr("error.type", "state_failed"))
		s.fail(shown(x.Error))
	}
}

// endExecs completes the spans of the executions in r.ended. It must not be called before the model has
// received the transitions that follow these executions.
func (r *Reporter) endExecs() {
	for _, x := range r.ended {
		s := newSpan(r.trace.ExecSpan(x.Agent, x.N), r.trace.RunSpan(), "script "+shown(x.State), x.Started)
		s.set(textAttr("raymond.agent", x.Agent), textAttr("raymond.state", shown(x.State)), intAttr("raymond.exec", x.N))
		if x.Kind == "prompt" {
			s.Name = "invoke_agent " + shown(x.State)
			s.set(textAttr("gen_ai.operation.name", "invoke_agent"), textAttr("gen_ai.agent.name", shown(x.State)), textAttr("gen_ai.agent.id", x.Agent))
			s.set(r.used(x)...)
		}
		if of := r.original; of != nil && of.Exec == x.N {
			r.linkToOriginal(s, func(t state.Trace) state.SpanRef { return t.ExecSpan(x.Agent, x.N) })
		}
		s.set(spent(x.Spent.Spent)...)
		r.fail(s, x)
		if n := len(x.Attempts); n == 0 || x.Attempts[n-1].Attempt < x.Attempt() {
			last := r.attempt(x, x.Attempt(), x.Ended)
			r.fail(last, x)
			r.end(last, x.Ended)
		}
		if to := x.Transition; to != nil {
			s.set(textAttr("raymond.transition.tag", to.Tag), textAttr("raymond.transition.target", shown(to.Target)))
		}
		r.end(s, x.Ended)
	}
	r.ended = nil
}
