package session_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/runner/traces/tracestest"
	"github.com/raymond-action/raymond-action/state"
)

const (
	outerSpan = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	laterSpan = "00-11111111111111111111111111111111-2222222222222222-01"
)

// TestTracesOfTheProgram: with the real CLI and over two processes, a run is one trace below
// the span that started it; what runs in it knows its span, and nothing of the collector's key.
func TestTracesOfTheProgram(t *testing.T) {
	t.Parallel()
	const told = `echo "$RAYMOND_STATE $TRACEPARENT $(env | grep -c SECRET-HEADER)" >>"$SIDE_EFFECTS"`
	api := claudetest.NewServer(t, claudetest.On("Prompt one", claudetest.Do(claudetest.Bash(told)), claudetest.Say("<goto>TWO.sh</goto>")))
	s := newRealSite(t, `
-- 1_START.md --
---
done_when: ['`+strings.ReplaceAll(told, "$RAYMOND_STATE", "check")+`']
---
Prompt one.
-- TWO.sh --
`+told+`
echo '<result>done</result>'
`, api)
	c := tracestest.New(t, nil)
	env := append(c.Environ(), "OTEL_EXPORTER_OTLP_HEADERS=x-key=SECRET-HEADER")
	s.StartWith(append(env, "TRACEPARENT="+outerSpan), s.RunArgs("--allowed-tools", "Bash", "--max-iterations", "1")...).Wait()
	s.StartWith(append(env, "TRACEPARENT="+laterSpan), "resume", sitetest.RunID, "--max-iterations", "10").Wait()

	trace := s.Saved().Trace
	if trace == nil || trace.ID != outerSpan[3:35] || trace.Parts != 2 {
		t.Fatalf("the trace that is saved: %+v", trace)
	}
	one, two := trace.OfAttempt("main", 1, 1), trace.OfAttempt("main", 2, 1)
	want := []string{"1_START.md " + one.String() + " 0", "check " + one.String() + " 0", "TWO.sh " + two.String() + " 0"}
	if d := cmp.Diff(want, s.Lines("effects")); d != "" {
		t.Errorf("what runs is told (-want +got):\n%s", d)
	}
	type line struct{ Name, ID, Parent, Links string }
	root := trace.OfRun().Span
	var got []line
	later := ""
	for _, span := range c.Spans() {
		if span.Trace != trace.ID || span.Failed != "" && span.Name != "invoke_workflow "+"flow" {
			t.Errorf("a span of the trace %s, failed: %q: %s", span.Trace, span.Failed, span.Name)
		}
		if strings.HasPrefix(span.Name, "invoke_workflow") {
			span.Name = "invoke_workflow"
			if span.ID != root {
				later = span.ID
			}
		}
		got = append(got, line{span.Name, span.ID, span.Parent, strings.Join(span.Links, " ")})
	}
	lines := []line{
		{"invoke_workflow", root, outerSpan[36:52], ""},
		{"invoke_agent 1_START.md", trace.OfExec("main", 1).Span, root, ""}, {"attempt 1", one.Span, trace.OfExec("main", 1).Span, ""},
		{"invoke_workflow", later, root, laterSpan[3:52]},
		{"script TWO.sh", trace.OfExec("main", 2).Span, root, ""}, {"attempt 1", two.Span, trace.OfExec("main", 2).Span, ""},
	}
	byID := cmpopts.SortSlices(func(a, b line) bool { return a.ID < b.ID })
	if d := cmp.Diff(lines, got, byID); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
	s.wantSpanOfPrompt(c, one.Span)
	if h := c.Headers(); len(h) == 0 || h[0].Get("X-Key") != "SECRET-HEADER" {
		t.Errorf("headers of the requests: %v", h)
	}
}

// wantSpanOfPrompt checks the spans of a prompt that used a tool.
func (s *site) wantSpanOfPrompt(c *tracestest.Collector, attempt string) {
	s.T.Helper()
	for _, span := range c.Spans() {
		a := span.Attributes
		if span.ID == attempt && (len(span.Events) != 1 || span.Events[0].Attributes["gen_ai.tool.name"] != "Bash") {
			s.T.Errorf("events of the attempt: %+v", span.Events)
		}
		if strings.HasPrefix(span.Name, "invoke_agent") && (a["gen_ai.provider.name"] != "anthropic" || a["gen_ai.usage.input_tokens"] == nil || a["gen_ai.response.model"] == nil) {
			s.T.Errorf("attributes of the prompt: %v", a)
		}
	}
}

// TestTracesOfKilledRuns: wherever a run is killed, its spans are of what was saved, and none
// comes twice.
func TestTracesOfKilledRuns(t *testing.T) {
	t.Parallel()
	for n := 1; ; n += 2 {
		s := newSite(t, "-- 1_START.sh --\necho '<goto>TWO.sh</goto>'\n-- TWO.sh --\necho '<result>done</result>'\n")
		c := tracestest.New(t, nil)
		s.Env = append(s.Env, c.Environ()...)
		_, isKilled := s.breakAt(n, s.RunArgs()...)
		if isKilled && sitetest.Exists(s.StateFile()) {
			s.Resume(0)
		}
		if !sitetest.Exists(s.StateFile()) {
			continue
		}
		s.wantSpansOfEvents(c, n)
		if !isKilled {
			return
		}
	}
}

// wantSpansOfEvents checks that spans are of the state executions that have ended.
func (s *site) wantSpansOfEvents(c *tracestest.Collector, n int) {
	s.T.Helper()
	trace, ended := s.Saved().Trace, map[string]bool{}
	for _, e := range s.Events() {
		if _, ok := e.Body.(*state.StateFinished); ok {
			ended[trace.OfExec(e.Agent, e.Exec).Span] = true
		}
	}
	seen := map[string]int{}
	for _, span := range c.Spans() {
		if seen[span.ID]++; seen[span.ID] > 1 {
			s.T.Errorf("failpoint %d: %s comes twice", n, span.Name)
		}
		if isState := strings.HasPrefix(span.Name, "script "); isState && !ended[span.ID] {
			s.T.Errorf("failpoint %d: %s has not ended by the log", n, span.Name)
		}
	}
	if seen[trace.OfRun().Span] != 1 && trace.Parts > 1 {
		s.T.Errorf("failpoint %d: the run has no span; the spans are %v", n, seen)
	}
}

// TestHangingCollectorChangesNothing compares runs with and without a collector that never
// answers.
func TestHangingCollectorChangesNothing(t *testing.T) {
	t.Parallel()
	plain := canonical(t)
	want := plain.Trace(plain.Start(plain.CanonicalArgs(1)...).Wait())
	hangs := canonical(t)
	end := make(chan struct{})
	c := tracestest.New(t, func(http.ResponseWriter, *http.Request) bool {
		<-end
		return false
	})
	t.Cleanup(func() { close(end) })
	hangs.Env = append(hangs.Env, c.Environ()...)
	hangs.Whole = invarianttest.EffectsOf(want.Effects)
	o := hangs.Start(hangs.CanonicalArgs(1)...).Wait()
	if d := cmp.Diff(want, hangs.Trace(o)); d != "" || o.Code != 0 {
		t.Errorf("exit code %d; what the run left (-without +with a collector):\n%s", o.Code, d)
	}
	if n := strings.Count(o.Stderr, "raymond: note: traces: "); n != 1 || !strings.Contains(o.Stderr, "did not reach the collector: it did not answer") {
		t.Errorf("got %d notes, want 1:\n%s", n, o.Stderr)
	}
}
