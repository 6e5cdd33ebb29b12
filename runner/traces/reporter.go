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

// How long Close waits until all was sent: after a run that was cancelled, and otherwise. A
// job that was cancelled ends soon.
const (
	waitCancelled = 2 * time.Second
	waitStopped   = 5 * time.Second
)

// Options are what a run is exported with.
type Options struct {
	Environ   []string          // with the variables of OpenTelemetry, and of a job
	Version   string            // of this program
	Providers map[string]string // of agent CLIs, as gen_ai.provider.name has them
	Part      []string          // the agents of a part of a matrix; nil for all
	Now       time.Time
	Model     *report.Model // of the run, which has each event before the reporter is told it
	// Note is told one line about a protocol that is not spoken, and one, when the reporter is
	// closed, if not all has arrived.
	Note func(string)

	transport http.RoundTripper // for tests; nil for that of the machine
	patience  time.Duration     // for tests: how long Close waits; 0 for the times above
}

// Reporter makes spans of the events of a run. It is told only what is saved.
type Reporter struct {
	out     *pipeline
	trace   state.Trace
	options Options
	part    *span            // of this process; nil once it has ended
	tools   map[string]*span // with the uses of tools in the attempt that is under way, by agent
	left    []*report.Exec   // that have ended, and may still be told where they lead to
	patient time.Duration
	inputs  bool // of tools may be told
	// original is the run that this one began as a copy of; nil for none.
	original *state.RerunOf
}

// Open returns the Reporter of a run that is about to be driven, for which the environment
// says where it is exported to, and nil where it says nothing. resumed says that the run was
// driven before. The run then has a trace, which is saved with its next step. The error says
// what is wrong with the environment.
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
		out: newPipeline(s, o.transport, about(env, o.Version), o.Version), options: o, tools: map[string]*span{}, patient: waitCancelled, inputs: s.hasContents,
		original: run.RerunOf,
	}
	r.begin(run, resumed, s)
	if resumed {
		r.endKilled(run)
	}
	kept := r.trace
	kept.Paused = false
	run.Trace = &kept
	return r, nil
}

// pause notes that this process exports nothing.
func pause(run *state.Run) {
	if run.Trace != nil {
		kept := *run.Trace
		kept.Paused = true
		run.Trace = &kept
	}
}

// begin begins the span of this process.
func (r *Reporter) begin(run *state.Run, resumed bool, s *settings) {
	isNew, parent := run.Trace == nil && run.Progress.Seq == 0, s.parent
	switch {
	case run.Trace != nil:
		r.trace = *run.Trace
	case isNew:
		r.trace = state.NewTrace(run.WorkflowID, parent)
	default: // when it was started nobody asked for traces
		r.trace = state.NewTrace(run.WorkflowID, state.SpanRef{})
	}
	if r.trace.Segments++; r.trace.Segments == 1 && s.isAlwaysOn {
		r.trace.Dropped = false
	}
	of, below := spanOf(r.trace, r.options.nameAt(r.options.Now))
	r.part = newSpan(of, below, "invoke_workflow "+nameOf(run), r.options.Now)
	r.part.set(r.describe(run, resumed)...)
	if parent.Span != "" && !isNew {
		r.part.link(parent)
	}
	if r.trace.Segments == 1 {
		r.linkToOriginal(r.part, state.Trace.RunSpan)
	}
}

// linkToOriginal links a span of a rerun to one of the run before, if that was exported.
func (r *Reporter) linkToOriginal(s *span, of func(state.Trace) state.SpanRef) {
	if r.original != nil && r.original.Trace != "" {
		s.link(of(state.Trace{ID: r.original.Trace}))
	}
}

// end ends a span, and has it sent unless nothing of the run is to be recorded.
func (r *Reporter) end(s *span, at time.Time) {
	if !r.trace.Dropped {
		r.out.end(s, at)
	}
}

// spanOf returns the span of the newest process of a trace, and the one above it. name is
// unique among the processes.
func spanOf(t state.Trace, name string) (of, below state.SpanRef) {
	switch {
	case t.Segments > 1:
		return t.SegmentSpan(name), t.RunSpan()
	case t.Parent == "":
		return t.RunSpan(), state.SpanRef{}
	}
	return t.RunSpan(), state.SpanRef{Trace: t.ID, Span: t.Parent, Sampled: !t.Dropped}
}

// nameAt is a name of a process that began at a time: jobs of a matrix may begin at once.
func (o *Options) nameAt(began time.Time) string {
	return began.UTC().Format(time.RFC3339Nano) + " " + strings.Join(o.Part, " ")
}

// describe returns the attributes of the span of a process.
func (r *Reporter) describe(run *state.Run, resumed bool) []attribute {
	all := []attribute{
		ofText("gen_ai.operation.name", "invoke_workflow"), ofText("gen_ai.workflow.name", nameOf(run)),
		ofText("raymond.workflow_id", run.WorkflowID), ofBool("raymond.resumed", resumed),
	}
	if of := run.RerunOf; of != nil {
		all = append(all, ofText("raymond.rerun_of", of.WorkflowID), ofNumber("raymond.rerun_exec", of.Exec))
	}
	if url := jobURL(r.options.Environ); url != "" {
		all = append(all, ofText("cicd.pipeline.run.url.full", shown(url)))
	}
	return all
}

// nameOf is the name of the workflow of a run.
func nameOf(run *state.Run) string {
	name := path.Base(strings.ReplaceAll(run.Scope, `\`, "/"))
	return shown(strings.TrimSuffix(name, path.Ext(name)))
}

// endKilled ends the span of the process that drove the run before this one, if it was killed:
// it could not do so itself. The state executions that it has left are started again, under
// the ids that they had.
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
		return nil // it comes with the end of a state execution
	}
	r.leave()
	x := r.options.Model.Last(e.Agent)
	switch b := e.Body.(type) {
	case *state.StateFinished:
		if e.Exec > 0 { // else it was refused before it began
			r.left = append(r.left, x)
		}
	case *state.NodeAttempt:
		r.judged(x)
	case *state.AgentWaits:
		r.happen(e, ofText("raymond.wait.for", string(b.For)))
	case *state.AgentGoesOn:
		r.happen(e, ofText("raymond.wait.by", shown(b.By)))
	case *state.Limit:
		r.happen(e, ofText("raymond.limit", b.Which), ofFloat("raymond.limit.value", b.Value), ofFloat("raymond.limit.max", b.Max))
	case *state.RunFinished:
		r.stop(e, b)
	}
	return nil
}

// happen adds an event to the span of the process.
func (r *Reporter) happen(e state.Event, about ...attribute) {
	if r.part != nil {
		r.part.happen(e.Time, "raymond."+e.Body.Type(), append(about, ofText("raymond.agent", e.Agent))...)
	}
}

// stop ends the span of the process, and sends what is left.
func (r *Reporter) stop(e state.Event, b *state.RunFinished) {
	if r.part == nil {
		return
	}
	r.part.set(slices.Concat(spent(b.Spent), []attribute{
		ofText("raymond.status", string(b.Status)), ofText("raymond.outcome", b.Outcome), ofNumber("raymond.executions", b.Iterations),
	})...)
	switch b.Status {
	case state.Completed, state.Suspended:
	default:
		r.part.set(ofText("error.type", string(b.Status)))
		r.part.fail(shown(cmp.Or(b.Reason, string(b.Status))))
	}
	if b.Status != state.Cancelled {
		r.patient = waitStopped
	}
	r.end(r.part, e.Time)
	r.part = nil
	r.out.close()
}

// Tick ends the spans of state executions that lead nowhere.
func (r *Reporter) Tick(time.Time) error {
	r.leave()
	return nil
}

// Close implements report.Reporter. It waits until all was sent, for a few seconds at most.
func (r *Reporter) Close() error {
	r.leave()
	r.out.close()
	if line := r.out.wait(cmp.Or(r.options.patience, r.patient)); line != "" {
		r.options.Note(line)
	}
	return nil
}
