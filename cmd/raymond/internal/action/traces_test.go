//go:build linux

package action_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/runner/traces/tracestest"
)

// TestTracesOfJobs: the jobs of two workflow runs drive a run, which is one trace with links to
// them. What runs in the jobs knows its span, and no variable of the exporter.
func TestTracesOfJobs(t *testing.T) {
	t.Parallel()
	c := tracestest.New(t)
	told := func(next string) string {
		return `echo "$TRACEPARENT ${OTEL_EXPORTER_OTLP_ENDPOINT-none}" >>"$EFFECTS"; echo '` + next + "'\n"
	}
	s := newScene(t, "-- wf/START.sh --\n"+told("<goto>END.sh</goto>")+"-- wf/END.sh --\n"+told("<result>done</result>"))
	drive := func(run int64, limit string, code int) {
		j := s.job(run, "key", "k", "max-iterations", limit).set("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_EXPORTER_OTLP_HEADERS", "x-key=0123456789abcdef")
		e := j.do(code)
		if log := strings.Join(e.Lines, "\n") + e.Stderr; strings.Contains(log, "traces:") || strings.Contains(log, "0123456789abcdef") {
			t.Errorf("the log of the job of workflow run %d speaks of traces, or has the key:\n%s", run, log)
		}
	}
	drive(1, "1", problem.ExitCodes[problem.ClassOverLimit])
	drive(2, "9", 0)

	spans := c.Spans()
	jobOf, traces, attempts := map[string]any{}, map[string]bool{}, []string{}
	for _, span := range spans {
		jobOf[span.Name] = span.Resource["cicd.pipeline.run.url.full"]
		traces[span.Trace] = true
		if span.Name == "attempt 1" {
			attempts = append(attempts, "00-"+span.Trace+"-"+span.ID+"-01 none")
		}
	}
	const page = "https://example.test/o/r/actions/runs/"
	if len(spans) != 6 || len(traces) != 1 || jobOf["script START.sh"] != page+"1/attempts/1" || jobOf["script END.sh"] != page+"2/attempts/1" {
		t.Errorf("got %d spans of %d traces, want 6 of one; their jobs: %v", len(spans), len(traces), jobOf)
	}
	s.wantDone(strings.Join(attempts, " "))
	for _, h := range c.Headers() {
		assert.Check(t, is.Equal(h.Get("X-Key"), "0123456789abcdef"), "headers of a request: %v", h)
	}
}
