package traces

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// visit is a state execution whose span has not ended.
type visit struct {
	agent, state string
	exec         int
	span         trace.Span
	isPrompt     bool

	attempt trace.Span // nil between two attempts
	number  int        // of the attempt, or of the last one
	judged  time.Time  // when the attempt before ended; zero for the first
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
		v.span.SetAttributes(attribute.String("gen_ai.request.model", shown(b.Model)))
	}
	if b.Session != "" {
		v.span.SetAttributes(attribute.String("raymond.session", string(b.Session)))
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
	r.happen(e, attribute.String("raymond.reason", shown(b.Reason)))
}

// visit begins the span of a state execution. backend is the agent CLI that runs it; "" for a
// script.
func (r *Reporter) visit(e state.Event, began time.Time, backend string) *visit {
	v := &visit{agent: e.Agent, state: e.State, exec: e.Exec, isPrompt: backend != "", number: 1}
	name, about := "script "+shown(e.State), []attribute.KeyValue{
		attribute.String("raymond.agent", e.Agent), attribute.String("raymond.state", shown(e.State)), attribute.Int("raymond.exec", e.Exec),
	}
	if v.isPrompt {
		name = "invoke_agent " + shown(e.State)
		about = append(about, attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.agent.name", shown(e.State)),
			attribute.String("gen_ai.agent.id", e.Agent), attribute.String("raymond.agent_cli", backend))
		if provider := r.options.Providers[backend]; provider != "" {
			about = append(about, attribute.String("gen_ai.provider.name", provider))
		}
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(began), trace.WithAttributes(about...)}
	if of := r.original; of != nil && of.Exec == v.exec {
		options = append(options, r.linkToOriginal(func(t state.Trace) state.SpanRef { return t.OfExec(v.agent, v.exec) })...)
	}
	v.span = r.out.start(r.trace.OfExec(v.agent, v.exec), r.trace.OfRun(), name, options...)
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
func (r *Reporter) attempt(v *visit, now time.Time) trace.Span {
	if v.attempt != nil {
		return v.attempt
	}
	v.attempt = r.out.start(r.trace.OfAttempt(v.agent, v.exec, v.number), r.trace.OfExec(v.agent, v.exec), "attempt "+strconv.Itoa(v.number),
		trace.WithTimestamp(now), trace.WithAttributes(attribute.Int("raymond.attempt", v.number), attribute.Int("raymond.exec", v.exec), attribute.String("raymond.agent", v.agent)))
	return v.attempt
}

// Tool adds the use of a tool to the attempt.
func (r *Reporter) Tool(agent, _ string, use runner.ToolUse) error {
	v := r.running[agent]
	if v == nil {
		return nil
	}
	now := time.Now()
	about := []attribute.KeyValue{attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", shown(use.Name))}
	if r.inputs && use.Input != "" {
		about = append(about, attribute.String("gen_ai.tool.call.arguments", shown(use.Input)))
	}
	r.attempt(v, now).AddEvent("execute_tool", trace.WithTimestamp(now), trace.WithAttributes(about...))
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
	span.SetAttributes(spent(b.Spent())...)
	span.SetAttributes(attribute.Bool("raymond.converged", b.Converged))
	if !b.Converged {
		span.SetAttributes(attribute.String("error.type", "not_converged"))
		span.SetStatus(codes.Error, shown(b.Reason))
	}
	r.out.end(span, e.Time)
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
	spans := []trace.Span{v.span}
	if v.attempt != nil {
		spans = append(spans, v.attempt)
	}
	for _, span := range spans {
		if b.ExitCode != nil {
			span.SetAttributes(attribute.Int("process.exit.code", *b.ExitCode))
		}
		if !b.OK {
			span.SetAttributes(attribute.String("error.type", "state_failed"))
			span.SetStatus(codes.Error, shown(b.Error))
		}
	}
	v.span.SetAttributes(spent(b.Spent())...)
	if v.isPrompt {
		v.span.SetAttributes(used(b)...)
	}
	if v.attempt != nil {
		r.out.end(v.attempt, e.Time)
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
	if v.moves++; v.moves == 1 {
		v.span.SetAttributes(attribute.String("raymond.transition.tag", t.Tag), attribute.String("raymond.transition.target", shown(t.Target)))
		return
	}
	v.span.AddEvent("raymond.transition", trace.WithTimestamp(e.Time),
		trace.WithAttributes(attribute.String("raymond.transition.tag", t.Tag), attribute.String("raymond.transition.target", shown(t.Target))))
}

// leave ends the spans of the state executions that have ended: nothing more will be told of them.
func (r *Reporter) leave() {
	for agent, v := range r.left {
		r.out.end(v.span, v.ended)
		delete(r.left, agent)
	}
}
