package traces

import (
	"slices"
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Doing adds the use of a tool to the attempt that is under way.
func (r *Reporter) Doing(agent, _ string, p runner.Progress) error {
	use := p.Tool
	if x := r.options.Model.Last(agent); use == nil || x == nil || x.Status != report.Running {
		return nil
	}
	about := []attribute{ofText("gen_ai.operation.name", "execute_tool"), ofText("gen_ai.tool.name", shown(use.Name))}
	if r.inputs && use.Input != "" {
		about = append(about, ofText("gen_ai.tool.call.arguments", shown(use.Input)))
	}
	if r.tools[agent] == nil {
		r.tools[agent] = &span{}
	}
	r.tools[agent].happen(time.Now(), "execute_tool", about...)
	return nil
}

// judged ends the span of the last attempt of an execution, on which there is a verdict.
func (r *Reporter) judged(x *report.Exec) {
	b := &x.Attempts[len(x.Attempts)-1]
	span := r.attempt(x, b.Attempt, b.Ended)
	span.Start = max(span.Start, b.Ended.Add(-time.Duration(b.DurationS*float64(time.Second))).UnixNano())
	span.set(spent(b.Spent)...)
	span.set(ofBool("raymond.converged", b.Converged))
	if !b.Converged {
		span.set(ofText("error.type", "not_converged"))
		span.fail(shown(b.Reason))
	}
	r.end(span, b.Ended)
}

// attempt returns the span of an attempt that has ended, which began when the one before did, with
// what happened in it.
func (r *Reporter) attempt(x *report.Exec, number int, ended time.Time) *span {
	began := x.Started
	for i := range x.Attempts {
		if x.Attempts[i].Attempt < number {
			began = x.Attempts[i].Ended
		}
	}
	s := newSpan(r.trace.AttemptSpan(x.Agent, x.N, number), r.trace.ExecSpan(x.Agent, x.N), "attempt "+strconv.Itoa(number), began)
	s.set(ofNumber("raymond.attempt", number), ofNumber("raymond.exec", x.N), ofText("raymond.agent", x.Agent))
	if used := r.tools[x.Agent]; used != nil {
		s.Events, s.Dropped = used.Events, used.Dropped
		delete(r.tools, x.Agent)
	}
	tell := func(at time.Time, name, why string, about ...attribute) {
		if !at.Before(began) && !at.After(ended) {
			s.happen(at, "raymond."+name, append(about, ofText("raymond.reason", shown(why)))...)
		}
	}
	for i, m := range x.Reminders {
		tell(m.Time, "reminder", m.Text, ofNumber("raymond.reminder", i+1))
	}
	for i, m := range x.Retries {
		tell(m.Time, "retry", m.Text, ofNumber("raymond.retry", i+1), ofNumber("raymond.backoff_ms", m.BackoffMS))
	}
	for _, c := range x.Interruptions {
		tell(c.Time, "attempt_interrupted", c.Reason)
	}
	slices.SortStableFunc(s.Events, func(a, b event) int { return int(a.Time - b.Time) })
	return s
}

// fail says how an execution has failed, if it has.
func (r *Reporter) fail(s *span, x *report.Exec) {
	if x.ExitCode != nil {
		s.set(ofNumber("process.exit.code", *x.ExitCode))
	}
	if x.Status == report.Failed {
		s.set(ofText("error.type", "state_failed"))
		s.fail(shown(x.Error))
	}
}

// leave ends the spans of the state executions that have ended: nothing more will be told of them.
func (r *Reporter) leave() {
	for _, x := range r.left {
		s := newSpan(r.trace.ExecSpan(x.Agent, x.N), r.trace.RunSpan(), "script "+shown(x.State), x.Started)
		s.set(ofText("raymond.agent", x.Agent), ofText("raymond.state", shown(x.State)), ofNumber("raymond.exec", x.N))
		if x.Kind == "prompt" {
			s.Name = "invoke_agent " + shown(x.State)
			s.set(ofText("gen_ai.operation.name", "invoke_agent"), ofText("gen_ai.agent.name", shown(x.State)), ofText("gen_ai.agent.id", x.Agent))
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
			s.set(ofText("raymond.transition.tag", to.Tag), ofText("raymond.transition.target", shown(to.Target)))
		}
		r.end(s, x.Ended)
	}
	r.left = nil
}
