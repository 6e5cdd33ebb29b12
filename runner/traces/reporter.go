package traces

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// The maximum time for which Close waits until all spans are sent. It is shorter for a cancelled run,
// because a cancelled job has little time left.
const (
	waitCancelled = 2 * time.Second
	waitStopped   = 5 * time.Second
)

// Options configure how a run is exported.
type Options struct {
	Environ   []string          // environment with the variables for OpenTelemetry and the variables of the CI job
	Version   string            // version of this program
	Providers map[string]string // values of the attribute gen_ai.provider.name, by agent CLI
	// Part contains the agents of the matrix part that this process drives. It is nil if the
	// process drives the whole run.
	Part []string
	Now  time.Time
	// Model is the model of the run. Each event must be added to it before it is reported.
	Model *report.Model
	// Note is called with a line for the user if the configured protocol is not supported, and by Close
	// if spans were lost.
	Note func(string)

	transport http.RoundTripper // for tests; nil means the default transport
	patience  time.Duration     // for tests: how long Close waits; 0 means the defaults
}

// Reporter creates spans from the events of a run. It must only get events that are already saved.
type Reporter struct {
	out         *pipeline
	trace       state.Trace
	options     Options
	processSpan *span // span of this process; nil after it has ended
	// toolEvents collects the tool calls in the current attempt of each agent, as events of a span.
	toolEvents map[string]*span
	// ended contains executions that have ended, but whose transition may not have been reported
	// yet.
	ended         []*report.Exec
	patient       time.Duration
	hasToolInputs bool // whether to record the inputs of tools
	// original is the run that this run repeats. It is nil if this run is not a rerun.
	original *state.RerunOf
}

// Open returns a Reporter for a run, or nil if the environment does not configure an export.
// resumed must be set if another process has driven the run before. Open sets run.Trace, which is
// saved with the next step of the run. It returns an error if the configuration is invalid.
func Open(run *state.Run, resumed bool, o Options) (*Reporter, error) {
	env := environ(o.Environ)
	if env.isOff() {
		pause(run)
		return nil, nil
	}
	s, err := env.settings()
	if err != nil {
		pause(run)
		return nil, err
	}
	if s.note != "" {
		o.Note("traces: " + s.note)
	}
	r := &Reporter{
		out: newPipeline(s, o.transport, newResource(env, o.Version), o.Version), options: o, toolEvents: map[string]*span{}, patient: waitCancelled, hasToolInputs: s.hasContents,
		original: run.RerunOf,
	}
	r.begin(run, resumed, s)
	if resumed {
		r.endKilled(run)
	}
	trace := r.trace
	trace.Paused = false
	run.Trace = &trace
	return r, nil
}

// pause sets a flag in run.Trace: the process that now drives the run exports no spans. It does
// nothing if the run has no trace.
func pause(run *state.Run) {
	if run.Trace != nil {
		trace := *run.Trace
		trace.Paused = true
		run.Trace = &trace
	}
}

// begin starts the span of this process. If the run has no trace yet, begin creates a trace.
func (r *Reporter) begin(run *state.Run, resumed bool, s *settings) {
	isNew, parent := run.Trace == nil && run.Progress.Seq == 0, s.parent
	switch {
	case run.Trace != nil:
		r.trace = *run.Trace
	case isNew:
		r.trace = state.NewTrace(run.WorkflowID, parent)
	default: // the run started without tracing, so the trace gets no parent
		r.trace = state.NewTrace(run.WorkflowID, state.SpanRef{})
	}
	if r.trace.Segments++; r.trace.Segments == 1 && s.isAlwaysOn {
		r.trace.Dropped = false
	}
	of, below := spanOf(r.trace, r.options.nameAt(r.options.Now))
	r.processSpan = newSpan(of, below, "invoke_workflow "+nameOf(run), r.options.Now)
	r.processSpan.set(r.describe(run, resumed)...)
	if parent.Span != "" && !isNew {
		r.processSpan.link(parent)
	}
	if r.trace.Segments == 1 {
		r.linkToOriginal(r.processSpan, state.Trace.RunSpan)
	}
}

// linkToOriginal links a span of a rerun to the corresponding span of the original run, which the
// function of returns for the original trace. It does nothing if the run is not a rerun or if the
// original run was not exported.
func (r *Reporter) linkToOriginal(s *span, of func(state.Trace) state.SpanRef) {
	if r.original != nil && r.original.Trace != "" {
		s.link(of(state.Trace{ID: r.original.Trace}))
	}
}

// end completes a span and queues it for sending. It drops the span if the trace is not sampled.
func (r *Reporter) end(s *span, at time.Time) {
	if !r.trace.Dropped {
		r.out.end(s, at)
	}
}

// spanOf returns the ids of the span of the newest process in a trace, and the ids of its parent.
// name must be different for each process.
func spanOf(t state.Trace, name string) (of, below state.SpanRef) {
	switch {
	case t.Segments > 1:
		return t.SegmentSpan(name), t.RunSpan()
	case t.Parent == "":
		return t.RunSpan(), state.SpanRef{}
	}
	return t.RunSpan(), state.SpanRef{Trace: t.ID, Span: t.Parent, Sampled: !t.Dropped}
}

// nameAt returns a unique name for the process that started at began. It contains the agents of the
// process's part, since several jobs of a matrix may start at the same time.
func (o *Options) nameAt(began time.Time) string {
	return began.UTC().Format(time.RFC3339Nano) + " " + strings.Join(o.Part, " ")
}

// describe returns the attributes for the span of a process.
func (r *Reporter) describe(run *state.Run, resumed bool) []attribute {
	all := []attribute{
		textAttr("gen_ai.operation.name", "invoke_workflow"), textAttr("gen_ai.workflow.name", nameOf(run)),
		textAttr("raymond.workflow_id", run.WorkflowID), boolAttr("raymond.resumed", resumed),
	}
	if of := run.RerunOf; of != nil {
		all = append(all, textAttr("raymond.rerun_of", of.WorkflowID), intAttr("raymond.rerun_exec", of.Exec))
	}
	if url := jobURL(r.options.Environ); url != "" {
		all = append(all, textAttr("cicd.pipeline.run.url.full", shown(url)))
	}
	return all
}

// nameOf returns the name of a run's workflow, which is the last element of its path without an
// extension.
func nameOf(run *state.Run) string {
	name := path.Base(strings.ReplaceAll(run.Scope, `\`, "/"))
	return shown(strings.TrimSuffix(name, path.Ext(name)))
}

// endKilled completes the span of the previous process if that process was killed and so could not
// do it. Spans of interrupted state executions are not completed: this process repeats these
// executions, and their spans keep the same ids.
func (r *Reporter) endKilled(run *state.Run) {
	before := run.Trace
	if before == nil || before.Paused || run.Progress.Status != state.Running || len(run.Events) == 0 {
		return
	}
	began := run.Progress.Started
	of, below := spanOf(*before, r.options.nameAt(began))
	span := newSpan(of, below, "invoke_workflow "+nameOf(run), began)
	span.set(r.describe(run, before.Segments > 1)...)
	span.fail("the process was killed")
	r.end(span, run.Events[len(run.Events)-1].Time)
}

// Report implements report.Reporter.
func (r *Reporter) Report(e state.Event) error {
	if _, ok := e.Body.(*state.Transition); ok {
		return nil // the span of the state execution also contains the transition
	}
	r.endExecs()
	x := r.options.Model.Last(e.Agent)
	switch b := e.Body.(type) {
	case *state.StateFinished:
		if e.Exec > 0 { // without a number, the state failed before it started
			r.ended = append(r.ended, x)
		}
	case *state.NodeAttempt:
		last := &x.Attempts[len(x.Attempts)-1] // it has just got its verdict
		span := r.attempt(x, last.Attempt, last.Ended)
		span.Start = max(span.Start, last.Ended.Add(-time.Duration(last.DurationS*float64(time.Second))).UnixNano())
		span.set(spent(last.Spent)...)
		span.set(boolAttr("raymond.converged", last.Converged))
		if !last.Converged {
			span.set(textAttr("error.type", "not_converged"))
			span.fail(shown(last.Reason))
		}
		r.end(span, last.Ended)
	case *state.AgentWaits:
		r.addEvent(e, textAttr("raymond.wait.for", string(b.For)))
	case *state.AgentGoesOn:
		r.addEvent(e, textAttr("raymond.wait.by", shown(b.By)))
	case *state.Limit:
		r.addEvent(e, textAttr("raymond.limit", b.Which), floatAttr("raymond.limit.value", b.Value), floatAttr("raymond.limit.max", b.Max))
	case *state.RunFinished:
		r.stop(e, b)
	}
	return nil
}

// addEvent adds an event of the run to the span of this process.
func (r *Reporter) addEvent(e state.Event, about ...attribute) {
	if r.processSpan != nil {
		r.processSpan.addEvent(e.Time, "raymond."+e.Body.Type(), append(about, textAttr("raymond.agent", e.Agent))...)
	}
}

// stop completes the span of this process, and closes the pipeline.
func (r *Reporter) stop(e state.Event, b *state.RunFinished) {
	if r.processSpan == nil {
		return
	}
	r.processSpan.set(slices.Concat(spent(b.Spent), []attribute{
		textAttr("raymond.status", string(b.Status)), textAttr("raymond.outcome", b.Outcome), intAttr("raymond.executions", b.Iterations),
	})...)
	switch b.Status {
	case state.Completed, state.Suspended:
	default:
		r.processSpan.set(textAttr("error.type", string(b.Status)))
		r.processSpan.fail(shown(cmp.Or(b.Reason, string(b.Status))))
	}
	if b.Status != state.Cancelled {
		r.patient = waitStopped
	}
	r.end(r.processSpan, e.Time)
	r.processSpan = nil
	r.out.close()
}

// Tick completes the spans of ended executions. Report does this only when another event follows.
func (r *Reporter) Tick(time.Time) error {
	r.endExecs()
	return nil
}

// Close implements report.Reporter. It waits until all spans are sent, but only for a few seconds.
// If spans were lost, it calls Options.Note.
func (r *Reporter) Close() error {
	r.endExecs()
	r.out.close()
	if line := r.out.wait(cmp.Or(r.options.patience, r.patient)); line != "" {
		r.options.Note(line)
	}
	return nil
}
