//go:build linux

package action_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// TestTracesOfJobs checks that a run that jobs of two workflow runs drive is one trace, with links
// to the jobs. Processes in the jobs know their span, but get no variables of the exporter.
func TestTracesOfJobs(t *testing.T) {
	t.Parallel()
	const key, page = "0123456789abcdef", "https://example.test/o/r/actions/runs/"
	traces, jobOf, attempts := map[string]bool{}, map[string]string{}, []string{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.Check(t, is.Equal(r.Header.Get("X-Key"), key), "header of a request")
		var sent struct {
			ResourceSpans []struct {
				Resource struct {
					Attributes []struct {
						Key   string
						Value struct{ StringValue string }
					}
				}
				ScopeSpans []struct {
					Spans []struct{ Name, TraceID, SpanID string }
				}
			}
		}
		assert.Check(t, json.NewDecoder(r.Body).Decode(&sent))
		from := sent.ResourceSpans[0]
		for _, s := range from.ScopeSpans[0].Spans {
			traces[s.TraceID] = true
			for _, a := range from.Resource.Attributes {
				if a.Key == "cicd.pipeline.run.url.full" {
					jobOf[s.Name] += a.Value.StringValue + " "
				}
			}
			if s.Name == "attempt 1" {
				attempts = append(attempts, "00-"+s.TraceID+"-"+s.SpanID+"-01 none")
			}
		}
	}))
	script := func(next string) string {
		return `echo "$TRACEPARENT ${OTEL_EXPORTER_OTLP_ENDPOINT-none}" >>"$EFFECTS"; echo '` + next + "'\n"
	}
	s := newScene(t, "-- wf/START.sh --\n"+script("<goto>END.sh</goto>")+"-- wf/END.sh --\n"+script("<result>done</result>"))
	drive := func(run int64, limit string, code int) {
		e := s.job(run, "key", "k", "max-iterations", limit).set("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL, "OTEL_EXPORTER_OTLP_HEADERS", "x-key="+key).do(code)
		if log := strings.Join(e.Lines, "\n") + e.Stderr; strings.Contains(log, "traces:") || strings.Contains(log, key) {
			t.Errorf("the log of the job of workflow run %d speaks of traces, or has the key:\n%s", run, log)
		}
	}
	drive(1, "1", problem.ExitCodes[problem.ClassOverLimit])
	drive(2, "9", 0)
	collector.Close()
	one, two := page+"1/attempts/1 ", page+"2/attempts/1 "
	assert.Check(t, is.DeepEqual(jobOf, map[string]string{"invoke_workflow wf": one + two, "attempt 1": one + two, "script START.sh": one, "script END.sh": two}), "jobs of spans")
	assert.Check(t, is.Len(traces, 1), "traces")
	s.wantDone(strings.Join(attempts, " "))
}
