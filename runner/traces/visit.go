package traces

import (
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// visit is a state execution whose span has not ended.
type visit struct {
	agent, state string
	exec         int
	span         *span
	isPrompt     bool

	attempt *span     // nil between two attempts
	number  int       // of the attempt, or of the last one
	judged  time.Time // when the attempt before ended; zero for the first
	ended   time.Time
	moves   int
	// interrupted is told of it before it is started again; nil when it was not.
	interrupted *state.Event
}

// start begins the spans of a state execution and of its attempt.
func (r *Reporter) start(e state.Event, b *state.StateStarted) {
	before := r.running[e.Agent] // one that was interrupted, of which nothing is sent
	v := r.visit(e, e.Time, b.Backend)
	if b.Model != "" {
		v.span.set(ofText("gen_ai.request.model", shown(b.Model)))
	}
	if b.Session != "" {
		v.span.set(ofText("raymond.session", string(b.Session)))
	}
	v.number = b.Attempt
	r.attempt(v, e.Time)
	if before != nil && before.exec == v.exec && before.interrupted != nil {
		r.interrupt(*before.interrupted, before.interrupted.Body.(*state.AttemptInterrupted))
	}
}

// interrupt notes that the attempt was cut off, and is started again.
func (r *Reporter) interrupt(e state.Event, b *state.AttemptInterrupted) {
	if v := r.running[e.Agent]; v != nil {
		v.interrupted = &e
	}
	r.happen(e, ofText("raymond.reason", shown(b.Reason)))
}

// visit begins the span of a state execution. backend is the agent CLI that runs it; "" for a
// script.
func (r *Reporter) visit(e state.Event, began time.Time, backend string) *visit {
	v := &visit{agent: e.Agent, state: e.State, exec: e.Exec, isPrompt: backend != "", number: 1}
	name, about := "script "+shown(e.State), []attribute{
		ofText("raymond.agent", e.Agent), ofText("raymond.state", shown(e.State)), ofNumber("raymond.exec", e.Exec),
	}
	if v.isPrompt {
		name = "invoke_agent " + shown(e.State)
		about = append(about, ofText("gen_ai.operation.name", "invoke_agent"), ofText("gen_ai.agent.name", shown(e.State)),
			ofText("gen_ai.agent.id", e.Agent), ofText("raymond.agent_cli", backend))
		if provider := r.options.Providers[backend]; provider != "" {
			about = append(about, ofText("gen_ai.provider.name", provider))
		}
	}
	v.span = newSpan(r.trace.OfExec(v.agent, v.exec), r.trace.OfRun(), name, began)
	v.span.set(about...)
	if of := r.original; of != nil && of.Exec == v.exec {
		r.linkToOriginal(v.span, func(t state.Trace) state.SpanRef { return t.OfExec(v.agent, v.exec) })
	}
	r.running[v.agent] = v
	return v
}

// resume begins the spans of a state execution that an earlier process has begun, as the run
// has it. If it is started from its beginning it begins anew.
func (r *Reporter) resume(a *state.Agent) {
	e, backend := a.Exec, ""
	switch {
	case e.Running != nil && e.Running.Mode != "":
		backend = e.Running.BackendName()
	case e.Session != nil:
		backend = e.Session.BackendName()
	}
	v := r.visit(state.Event{Agent: a.ID, State: a.State, Exec: e.Iteration}, e.Started, backend)
	v.number = e.Attempt
	if !e.AttemptStarted.IsZero() {
		r.attempt(v, e.AttemptStarted)
	}
}

// attempt returns the span of the attempt under way, which begins now unless it has begun.
func (r *Reporter) attempt(v *visit, now time.Time) *span {
	if v.attempt != nil {
		return v.attempt
	}
	v.attempt = newSpan(r.trace.OfAttempt(v.agent, v.exec, v.number), r.trace.OfExec(v.agent, v.exec), "attempt "+strconv.Itoa(v.number), now)
	v.attempt.set(ofNumber("raymond.attempt", v.number), ofNumber("raymond.exec", v.exec), ofText("raymond.agent", v.agent))
	return v.attempt
}

// Tool adds the use of a tool to the attempt.
func (r *Reporter) Tool(agent, _ string, use runner.ToolUse) error {
	v := r.running[agent]
	if v == nil {
		return nil
	}
	now := time.Now()
	about := []attribute{ofText("gen_ai.operation.name", "execute_tool"), ofText("gen_ai.tool.name", shown(use.Name))}
	if r.inputs && use.Input != "" {
		about = append(about, ofText("gen_ai.tool.call.arguments", shown(use.Input)))
	}
	r.attempt(v, now).happen(now, "execute_tool", about...)
	return nil
}

// judge ends the span of an attempt on which there is a verdict.
func (r *Reporter) judge(e state.Event, b *state.NodeAttempt) {
	v := r.running[e.Agent]
	if v == nil {
		return
	}
	began := e.Time.Add(-time.Duration(b.DurationS * float64(time.Second)))
	if began.Before(v.judged) {
		began = v.judged
	}
	v.number = b.Attempt
	span := r.attempt(v, began)
	span.set(spent(b.Spent())...)
	span.set(ofBool("raymond.converged", b.Converged))
	if !b.Converged {
		span.set(ofText("error.type", "not_converged"))
		span.fail(shown(b.Reason))
	}
	r.end(span, e.Time)
	v.attempt, v.judged, v.number = nil, e.Time, b.Attempt+1
}

// finish ends a state execution, of which only the transition may still be told.
func (r *Reporter) finish(e state.Event, b *state.StateFinished) {
	if e.Exec == 0 { // it was refused before it began
		return
	}
	v := r.running[e.Agent]
	if v == nil || v.exec != e.Exec {
		v = r.visit(e, e.Time.Add(-time.Duration(b.DurationMS)*time.Millisecond), "")
	}
	if v.attempt == nil && b.Attempt >= v.number { // there is no verdict on it
		r.attempt(v, e.Time)
	}
	spans := []*span{v.span}
	if v.attempt != nil {
		spans = append(spans, v.attempt)
	}
	for _, span := range spans {
		if b.ExitCode != nil {
			span.set(ofNumber("process.exit.code", *b.ExitCode))
		}
		if !b.OK {
			span.set(ofText("error.type", "state_failed"))
			span.fail(shown(b.Error))
		}
	}
	v.span.set(spent(b.Spent())...)
	if v.isPrompt {
		v.span.set(used(b)...)
	}
	if v.attempt != nil {
		r.end(v.attempt, e.Time)
	}
	v.ended = e.Time
	delete(r.running, v.agent)
	r.left[v.agent] = v
}

// move tells a state execution that has ended where it leads to; there may be several places.
func (r *Reporter) move(e state.Event, t *state.Transition) {
	v := r.left[e.Agent]
	if v == nil || v.exec != e.Exec {
		return
	}
	to := []attribute{ofText("raymond.transition.tag", t.Tag), ofText("raymond.transition.target", shown(t.Target))}
	if v.moves++; v.moves == 1 {
		v.span.set(to...)
		return
	}
	v.span.happen(e.Time, "raymond.transition", to...)
}

// leave ends the spans of the state executions that have ended: nothing more will be told of them.
func (r *Reporter) leave() {
	for agent, v := range r.left {
		r.end(v.span, v.ended)
		delete(r.left, agent)
	}
}
