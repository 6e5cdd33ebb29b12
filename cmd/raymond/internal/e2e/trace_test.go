//go:build linux

package e2e

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/traces/tracestest"
)

const (
	outerSpan = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	laterSpan = "00-11111111111111111111111111111111-2222222222222222-01"
)

// TestTracesOfTheProgram: over two processes a run is one trace below the span that started
// it; what runs in it knows its span, and nothing of the collector's key.
func TestTracesOfTheProgram(t *testing.T) {
	t.Parallel()
	const told = `echo "STATE $TRACEPARENT $(env | grep -c SECRET-HEADER)" >>"$SIDE_EFFECTS"`
	s := newSite(t, `
-- 1_START.md --
---
done_when: ['`+strings.ReplaceAll(told, "STATE", "check")+`']
---
reply:
<goto>TWO.sh</goto>
end.
-- TWO.sh --
`+strings.ReplaceAll(told, "STATE", "script")+`
echo '<result>done</result>'
`)
	c := tracestest.New(t)
	env := append(c.Environ(), "OTEL_EXPORTER_OTLP_HEADERS=x-key=SECRET-HEADER")
	s.StartWith(append(env, "TRACEPARENT="+outerSpan), s.RunArgs("--max-iterations", "1")...).Wait()
	s.StartWith(append(env, "TRACEPARENT="+laterSpan), "resume", sitetest.RunID, "--max-iterations", "10").Wait()

	trace := s.Saved().Trace
	if trace == nil || trace.ID != outerSpan[3:35] || trace.Parts != 2 {
		t.Fatalf("the trace that is saved: %+v", trace)
	}
	one, two := trace.OfAttempt("main", 1, 1), trace.OfAttempt("main", 2, 1)
	want := []string{"check " + one.String() + " 0", "script " + two.String() + " 0"}
	assert.Check(t, is.DeepEqual(s.Lines("effects"), want), "what runs is told")
	got := map[string]string{} // parents by span
	for _, span := range c.Spans() {
		assert.Check(t, is.Equal(span.Trace, trace.ID), "span %s: the trace", span.Name)
		got[span.ID] = span.Parent
	}
	root, first, second := trace.OfRun().Span, trace.OfExec("main", 1).Span, trace.OfExec("main", 2).Span
	for span, parent := range map[string]string{root: outerSpan[36:52], first: root, one.Span: first, second: root, two.Span: second} {
		assert.Check(t, is.Equal(got[span], parent), "parent of the span %s", span)
	}
	if h := c.Headers(); len(h) == 0 || h[0].Get("X-Key") != "SECRET-HEADER" {
		t.Errorf("headers of the requests: %v", h)
	}
}
