package traces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// outside is the traceparent of a span that belongs to another program.
const outside = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// at returns the time that is the given number of seconds after noon.
func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func newRun() *state.Run {
	return &state.Run{WorkflowID: "flow-1", Scope: "/work/flow", Progress: state.Progress{Started: at(0), Status: state.Running}}
}

// exportRun opens a reporter for a run, reports events and closes the reporter.
func exportRun(t *testing.T, run *state.Run, o Options, events ...state.Event) {
	t.Helper()
	r := open(t, run, o)
	for _, e := range events {
		assert.NilError(t, reportEvent(r, e))
	}
	assert.NilError(t, r.Close())
}

// reportEvent adds an event to the model that the reporter reads, and reports it.
func reportEvent(r *Reporter, e state.Event) error {
	r.options.Model.Add(e)
	return r.Report(e)
}

// patience is how long tests wait for a collector. The collector always responds, but the machine
// may be slow.
const patience = 2 * time.Minute

func open(t *testing.T, run *state.Run, o Options) *Reporter {
	t.Helper()
	if o.Note == nil {
		o.Note = func(line string) { t.Errorf("note: %s", line) }
	}
	if o.Now.IsZero() {
		o.Now = at(0)
	}
	o.Model = report.NewLiveModel()
	o.Model.Resume(run)
	// Without a transport, the collector is a local server, which may be slow to respond.
	if o.transport == nil {
		o.patience = patience
	}
	r, err := Open(run, run.Progress.Events > 0, o)
	assert.NilError(t, err)
	assert.Assert(t, r != nil, "open: %v, %v", r, err)
	return r
}

// execEvent returns an event about execution n of the agent main.
func execEvent(n, seconds int, body state.Body) state.Event {
	e := state.Event{Time: at(seconds), Agent: "main", Body: body}
	if e.State = "A.md"; n == 2 {
		e.State = "B.sh"
	}
	e.Exec = n
	return e
}

func runEvent(seconds int, body state.Body) state.Event {
	return state.Event{Time: at(seconds), Body: body}
}

// collector is a local server that imitates a collector. It records the spans that it receives.
type collector struct {
	url string

	mu      sync.Mutex
	sent    []*span
	headers []http.Header
}

func startCollector(t *testing.T) *collector {
	c := &collector{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent export
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || r.Method+" "+r.URL.Path != "POST /v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "this is no export of traces", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.headers, c.sent = append(c.headers, r.Header), append(c.sent, sent.ResourceSpans[0].ScopeSpans[0].Spans...)
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// environ returns an environment that makes a reporter export to the collector.
func (c *collector) environ(more ...string) []string {
	return append(more, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url)
}

// spans returns the received spans, ordered by the time of their start.
func (c *collector) spans() []*span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(c.sent), func(a, b *span) int { return int(a.Start - b.Start) })
}

// second converts a timestamp to seconds after noon.
func second(nanoseconds int64) int64 { return (nanoseconds - noon.UnixNano()) / int64(time.Second) }

// tree formats each span as a line with its name, start and end, indented below the line of its
// parent.
func tree(spans []*span) string {
	there := map[string]bool{}
	for _, s := range spans {
		there[s.ID] = true
	}
	var b strings.Builder
	var walk func(parent, indent string)
	walk = func(parent, indent string) {
		for _, s := range spans {
			if s.Parent != parent && (parent != "" || there[s.Parent]) {
				continue
			}
			fmt.Fprintf(&b, "%s%s %d-%d", indent, s.Name, second(s.Start), second(s.End))
			if s.Status != nil {
				fmt.Fprintf(&b, " failed: %s", s.Status.Message)
			}
			for _, e := range s.Events {
				fmt.Fprintf(&b, " [%s]", e.Name)
			}
			b.WriteString("\n")
			walk(s.ID, indent+"  ")
		}
	}
	walk("", "")
	return b.String()
}

func wantTree(t *testing.T, c *collector, want string) {
	t.Helper()
	assert.Check(t, is.DeepEqual(tree(c.spans()), want), "spans")
}

// find returns the received span with a name. The test fails if no such span was received.
func find(t *testing.T, c *collector, name string) *span {
	t.Helper()
	spans := c.spans()
	i := slices.IndexFunc(spans, func(s *span) bool { return s.Name == name })
	assert.Assert(t, i >= 0, "there is no span %s", name)
	return spans[i]
}

// TestExportOfARun compares the export of a run in a CI job with testdata/run.json. The run is a
// rerun: it has a separate trace, whose spans link to the spans of the original run.
func TestExportOfARun(t *testing.T) {
	var sent []byte
	s := &stub{answer: func(r *http.Request, _ int) (*http.Response, error) {
		sent, _ = io.ReadAll(r.Body)
		return answer(200, "{}"), nil
	}}
	code, run := 1, newRun()
	run.RerunOf = &state.RerunOf{WorkflowID: "flow-0", Exec: 2, Trace: outside[3:35]}
	exportRun(t, run, Options{
		transport: s, Version: "1.2.3", Providers: map[string]string{"claude": "anthropic"}, Environ: []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://c.example", "OTEL_RESOURCE_ATTRIBUTES=team=a%20b,wrong,vcs.ref.head.name=mine", "GITHUB_SERVER_URL=https://github.example",
			"GITHUB_REPOSITORY=o/r", "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT=2", "GITHUB_JOB=fix", "GITHUB_WORKFLOW=CI", "GITHUB_REF_NAME=main", "GITHUB_SHA=abc", "RUNNER_NAME=r1",
		},
	},
		runEvent(0, &state.RunStarted{}),
		execEvent(1, 1, &state.StateStarted{Kind: "prompt", Attempt: 1, Session: state.Fresh, Model: "opus", Backend: "claude"}),
		execEvent(1, 2, &state.Retry{N: 1, Error: "reset", BackoffMS: 1000}),
		execEvent(1, 5, &state.NodeAttempt{Attempt: 1, DurationS: 4, Reason: "make failed \xff", Spent: state.Spent{USD: state.Dollar}}),
		execEvent(1, 9, &state.NodeAttempt{Attempt: 2, DurationS: 3, Converged: true}),
		execEvent(1, 9, &state.StateFinished{OK: true, Attempt: 2, Spent: state.Spent{USD: 2 * state.Dollar}, Turns: 7, SessionID: "s1", Models: map[string]state.USD{"opus-9": state.Dollar, "haiku": 1}, Tokens: &state.Tokens{Input: 10, Cached: 5, Output: 3}}),
		execEvent(1, 9, &state.Transition{Tag: "goto", Target: "B.sh"}),
		execEvent(2, 9, &state.StateStarted{Kind: "script", Attempt: 1}),
		execEvent(2, 11, &state.StateFinished{Attempt: 1, Error: "exit code 1", ExitCode: &code}),
		runEvent(12, &state.Limit{Which: "max-cost", Value: 2, Max: 1.5}),
		runEvent(12, &state.RunFinished{Status: state.Failed, Outcome: "failed", Reason: "main failed", Spent: state.Spent{USD: 2 * state.Dollar}, Iterations: 2}),
	)
	var got bytes.Buffer
	assert.NilError(t, json.Indent(&got, sent, "", "\t"))
	got.WriteByte('\n')
	assert.Check(t, golden.String(got.String(), "run.json"))
}

// TestLaterJobsAddToTheTrace checks a trace of two jobs. The first job is killed while it runs a
// state, and the second job runs the state again.
func TestLaterJobsAddToTheTrace(t *testing.T) {
	c := startCollector(t)
	const first, later = outside, "00-11111111111111111111111111111111-2222222222222222-01"
	run := newRun()
	// The reporter is not closed, because the process is killed.
	open(t, run, Options{Environ: c.environ("TRACEPARENT=" + first)})
	run.Progress.Events, run.Events = 3, []state.Event{execEvent(1, 4, &state.StateStarted{})}
	run.Agents = []*state.Agent{{ID: "main", State: "A.md", Status: state.Busy, Exec: &state.Exec{
		Iteration: 1, Attempt: 1, Started: at(4), AttemptStarted: at(4), Running: &state.Invocation{Mode: state.Fresh},
	}}}
	wantID := run.Trace.AttemptSpan("main", 1, 1).Span
	run = reload(t, run)
	exportRun(t, run, Options{Environ: c.environ("TRACEPARENT=" + later), Now: at(10)},
		runEvent(10, &state.RunStarted{Resumed: true}),
		execEvent(1, 11, &state.AttemptInterrupted{Attempt: 1, Reason: "killed"}),
		execEvent(1, 11, &state.StateStarted{Kind: "prompt", Attempt: 1, Backend: "claude"}),
		execEvent(1, 15, &state.StateFinished{OK: true, Attempt: 1}),
		runEvent(16, &state.RunFinished{Status: state.Completed}))
	wantTree(t, c, `invoke_workflow flow 0-4 failed: the process was killed
  invoke_agent A.md 4-15
    attempt 1 4-15 [raymond.attempt_interrupted]
  invoke_workflow flow 10-16
`)
	spans := c.spans()
	root := spans[0]
	assert.Check(t, root.TraceID == first[3:35] && root.Parent == first[36:52] && root.Links == nil, "the first job's span is %+v, want it below %s", root, first)
	assert.Check(t, is.DeepEqual(spans[3].Links, []link{{later[3:35], later[36:52]}}), "links of the second job's span")
	got := find(t, c, "attempt 1").ID
	assert.Check(t, is.Equal(got, wantID), "the attempt has the id %s now; processes before used %s", got, wantID)
}

// reload encodes and decodes a run, so that the result is what another process reads.
func reload(t *testing.T, run *state.Run) *state.Run {
	t.Helper()
	data, err := json.Marshal(run)
	var read state.Run
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	assert.NilError(t, err)
	return &read
}

// TestConcurrentJobsHaveDistinctSpans checks that all spans have different ids if the parts of a
// matrix drive copies of one run at the same time.
func TestConcurrentJobsHaveDistinctSpans(t *testing.T) {
	c := startCollector(t)
	run := newRun()
	exportRun(t, run, Options{Environ: c.environ()}, runEvent(1, &state.RunFinished{Status: state.Suspended}))
	run.Progress.Events, run.Progress.Status = 3, state.Suspended
	for _, agent := range []string{"main_a1", "main_a2"} {
		part := reload(t, run)
		start, end := execEvent(2, 20, &state.StateStarted{Kind: "script", Attempt: 1}), execEvent(2, 30, &state.StateFinished{OK: true, Attempt: 1})
		start.Agent, end.Agent = agent, agent
		exportRun(t, part, Options{Environ: c.environ(), Now: at(20), Part: []string{agent}}, start, end, runEvent(31, &state.RunFinished{Status: state.Suspended}))
	}
	ids := map[string]string{}
	for _, s := range c.spans() {
		assert.Check(t, ids[s.ID] == "" && s.TraceID == run.Trace.ID, "%s of the trace %s has the id of %s", s.Name, s.TraceID, ids[s.ID])
		ids[s.ID] = s.Name
	}
	assert.Check(t, len(ids) == 7, "got %d spans:\n%s", len(ids), tree(c.spans()))
}

// TestToolsAreEvents checks that tool calls are exported as events, and that their inputs are
// exported only if a variable requests it.
func TestToolsAreEvents(t *testing.T) {
	about := []attribute{textAttr("gen_ai.operation.name", "execute_tool"), textAttr("gen_ai.tool.name", "Bash"), textAttr("gen_ai.tool.call.arguments", "make \uFFFD")}
	for variable, want := range map[string][]attribute{"": about[:2], "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true": about} {
		c := startCollector(t)
		r := open(t, newRun(), Options{Environ: c.environ(variable), Now: time.Now()})
		_ = r.Doing("main", "A.md", runner.Progress{Tool: &runner.ToolUse{Name: "TooEarly"}})
		start, end := execEvent(1, 0, &state.StateStarted{Kind: "prompt", Attempt: 1, Backend: "codex"}), execEvent(1, 0, &state.StateFinished{OK: true, Attempt: 1})
		start.Time, end.Time = time.Now(), time.Now().Add(time.Minute)
		_ = reportEvent(r, start)
		_ = r.Doing("main", "A.md", runner.Progress{Tool: &runner.ToolUse{Name: "Bash", Input: "make \xff"}})
		_ = reportEvent(r, end)
		_ = r.Close()
		s := find(t, c, "attempt 1")
		assert.Assert(t, is.Len(s.Events, 1), variable)
		e := s.Events[0]
		assert.Check(t, e.Name == "execute_tool" && e.Time >= s.Start && e.Time <= s.End, "%s: %+v", variable, e)
		assert.Check(t, is.DeepEqual(e.Attributes, want), variable)
	}
}
