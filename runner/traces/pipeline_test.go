package traces

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// stub is an http.RoundTripper that imitates a collector without a network. answer gets the number
// of the request, counted from 1.
type stub struct {
	answer func(r *http.Request, n int) (*http.Response, error)

	mu sync.Mutex
	n  int
}

// RoundTrip implements http.RoundTripper.
func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.n++
	n := s.n
	s.mu.Unlock()
	return s.answer(r, n)
}

// requests returns the number of requests that the stub has received.
func (s *stub) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

func answer(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// never imitates a collector that hangs: it returns only when the request is cancelled.
func never(r *http.Request, _ int) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// partlyRefused returns the body of a response in which the collector rejects some spans.
func partlyRefused(spans, why string) string {
	return `{"partialSuccess":{"rejectedSpans":` + spans + `,"errorMessage":"` + why + `"}}`
}

// exportTo exports a run with one state, which results in three spans, to a stub. It returns the
// notes for the user, and how long Close took.
func exportTo(t *testing.T, s *stub, status state.Status, environ ...string) (notes []string, took time.Duration) {
	t.Helper()
	run := newRun()
	r := open(t, run, Options{
		Environ: append(environ, "OTEL_EXPORTER_OTLP_ENDPOINT=http://user:pass-word@collector.example:4318?key=query-secret", "OTEL_EXPORTER_OTLP_HEADERS=x-key=header-secret"),
		Now:     at(0), transport: s, Note: func(line string) { notes = append(notes, line) },
	})
	for _, e := range []state.Event{
		execEvent(1, 1, &state.StateStarted{Kind: "script", Attempt: 1}), execEvent(1, 2, &state.StateFinished{OK: true, Attempt: 1}), runEvent(3, &state.RunFinished{Status: status}),
	} {
		_ = reportEvent(r, e)
	}
	began := time.Now()
	_ = r.Close()
	return notes, time.Since(began)
}

// TestCollectorsThatMisbehave checks that a run ends soon even if the collector hangs or fails.
// There must be at most one note, and the note must not contain secrets.
func TestCollectorsThatMisbehave(t *testing.T) {
	always := func(r *http.Response) func(*http.Request, int) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		return func(*http.Request, int) (*http.Response, error) {
			again := *r
			again.Body = io.NopCloser(bytes.NewReader(body))
			return &again, nil
		}
	}
	const lost = "traces: 3 of 3 spans did not reach the collector: "
	for name, c := range map[string]struct {
		answer func(*http.Request, int) (*http.Response, error)
		status state.Status
		note   string // expected note; empty if no note is expected
		took   time.Duration
	}{
		"never":                 {never, state.Completed, lost + "the collector did not respond before the program ended", waitStopped},
		"never, cancelled":      {never, state.Cancelled, lost + "the collector did not respond before the program ended", waitCancelled},
		"takes them":            {always(answer(200, "")), state.Completed, "", 0},
		"takes all of them":     {always(answer(200, `{"partialSuccess":{}}`)), state.Completed, "", 0},
		"garbage":               {always(answer(200, "\xff\xff\x01\x02 nonsense")), state.Completed, "", 0},
		"long garbage":          {always(answer(200, strings.Repeat(" ", 1<<20)+partlyRefused("3", "no"))), state.Completed, "", 0},
		"a web page":            {always(answer(200, "<html>", "Content-Type", "text/html; charset=utf-8")), state.Completed, lost + "the server is not a collector: it responded with a web page", 0},
		"some refused":          {always(answer(200, partlyRefused(`"2"`, `too\nold \u001b[31m header-secret`))), state.Completed, "traces: 2 of 3 spans did not reach the collector: the collector refused them: too old  ***", 0},
		"absurdly many refused": {always(answer(200, partlyRefused("1152921504606846976", "no"))), state.Completed, lost + "the collector refused them: no", 0},
		"fewer than none":       {always(answer(200, partlyRefused("-5", "no"))), state.Completed, "", 0},
		"forbidden":             {always(answer(403, "")), state.Completed, lost + "the collector responded with status 403", 0},
		"sends elsewhere":       {always(answer(307, "", "Location", "http://evil.example/v1/traces")), state.Completed, lost + "the collector responded with status 307", 0},
		"always busy":           {always(answer(503, "", "Retry-After", "3600")), state.Completed, lost + "the collector responded with status 503", 0},
		"late": {func(*http.Request, int) (*http.Response, error) {
			time.Sleep(4 * time.Second)
			return answer(200, ""), nil
		}, state.Completed, "", 4 * time.Second},
		"gone": {func(*http.Request, int) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, state.Completed, lost + "unexpected EOF", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &stub{answer: func(r *http.Request, n int) (*http.Response, error) {
				assert.Check(t, is.Equal(r.URL.Host, "collector.example:4318"), "%s: where a request went to", name)
				return c.answer(r, n)
			}}
			notes, took := exportTo(t, s, c.status)
			got := strings.Join(notes, "\n")
			assert.Check(t, got == c.note && took == c.took, "%s: got the note %q after %s, want %q after %s", name, got, took, c.note, c.took)
			for _, secret := range []string{"pass-word", "query-secret", "header-secret"} {
				assert.Check(t, !strings.Contains(fmt.Sprint(notes), secret), "%s: a note has a secret: %q", name, notes)
			}
		})
	}
}

// TestBusyCollectorGetsThemLater checks that a request is repeated during the run if it has failed
// for a reason that may be temporary.
func TestBusyCollectorGetsThemLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stub{answer: func(_ *http.Request, n int) (*http.Response, error) {
			switch n {
			case 1:
				return answer(429, "", "Retry-After", "7"), nil
			case 2:
				return nil, io.ErrUnexpectedEOF
			}
			return answer(200, ""), nil
		}}
		r := open(t, newRun(), Options{Environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c.example"}, transport: s, Now: time.Now()})
		_ = reportEvent(r, execEvent(1, 1, &state.StateStarted{Kind: "script", Attempt: 1}))
		_ = reportEvent(r, execEvent(1, 2, &state.StateFinished{OK: true, Attempt: 1}))
		for range 30 {
			time.Sleep(time.Second)
			_ = r.Tick(time.Now())
		}
		assert.Check(t, is.Equal(s.requests(), 3), "requests to the collector")
		_ = r.Close()
	})
}

// TestFloodWhileTheCollectorHangs reports more spans than the queue can hold while the collector
// does not respond. It checks that the run never waits for the collector, and that the note gives
// the number of lost spans.
func TestFloodWhileTheCollectorHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes []string
		r := open(t, newRun(), Options{
			Environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c.example"}, transport: &stub{answer: never}, Now: time.Now(),
			Note: func(line string) { notes = append(notes, line) },
		})
		began := time.Now()
		for i := range 10000 {
			start, end := execEvent(i+1, 1, &state.StateStarted{Kind: "script", Attempt: 1}), execEvent(i+1, 2, &state.StateFinished{OK: true, Attempt: 1})
			_, _ = reportEvent(r, start), reportEvent(r, end)
		}
		took := time.Since(began)
		assert.Check(t, took <= 0, "the run has waited %s", took)
		_ = reportEvent(r, runEvent(3, &state.RunFinished{Status: state.Completed}))
		_ = r.Close()
		assert.Assert(t, is.Len(notes, 1), "notes: %q", notes)
		assert.Check(t, strings.HasPrefix(notes[0], "traces: 20001 of 20001 spans "), "notes: %q", notes)
	})
}

// TestRequestsFollowTheVariables checks which variables determine the URL and the headers of
// requests, and the note about an unsupported protocol.
func TestRequestsFollowTheVariables(t *testing.T) {
	c := startCollector(t)
	var notes []string
	exportRun(t, newRun(), Options{Note: func(line string) { notes = append(notes, line) }, Environ: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1/", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + c.url + "/v1/traces", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_EXPORTER_OTLP_HEADERS=x-other=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=Basic%20abc%3D, x-team = blue ,",
	}}, runEvent(1, &state.RunFinished{Status: state.Completed}))
	wantTree(t, c, "invoke_workflow flow 0-1\n")
	h := c.headers
	assert.Check(t, len(h) == 1 && h[0].Get("Authorization") == "Basic abc=" && h[0].Get("X-Team") == "blue" && h[0].Get("X-Other") == "", "headers: %v", h)
	want := []string{`traces: OTEL_EXPORTER_OTLP_PROTOCOL is "http/protobuf": spans are sent as http/json, the only protocol that this program speaks`}
	assert.Check(t, is.DeepEqual(notes, want), "notes")
}

// TestVariables checks variables that turn off the export, and the errors for invalid variables.
func TestVariables(t *testing.T) {
	const on = "OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example"
	for _, c := range []struct {
		want    string // expected error; empty if no error is expected
		environ []string
	}{
		{"", nil},
		{"", []string{"OTEL_SERVICE_NAME=x", "TRACEPARENT=" + outside}},
		{"", []string{on, "OTEL_EXPORTER_OTLP_ENDPOINT="}},
		{"", []string{on, "OTEL_SDK_DISABLED=true"}},
		{"", []string{on, "OTEL_TRACES_EXPORTER=none"}},
		{`OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": this program only speaks http/json`, []string{on, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}},
		{`OTEL_EXPORTER_OTLP_ENDPOINT is not an http:// or https:// URL`, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318"}},
		{`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not an http:// or https:// URL`, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=unix:///tmp/x"}},
		{`OTEL_EXPORTER_OTLP_TIMEOUT is "10s"; expected a number of milliseconds`, []string{on, "OTEL_EXPORTER_OTLP_TIMEOUT=10s"}},
		{`OTEL_EXPORTER_OTLP_HEADERS is not a comma-separated list of name=value`, []string{on, "OTEL_EXPORTER_OTLP_HEADERS=secret"}},
		{`OTEL_EXPORTER_OTLP_CERTIFICATE: open /nowhere: no such file or directory`, []string{on, "OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere"}},
		{"", []string{on, "OTEL_TRACES_SAMPLER=always_off"}},
		{`OTEL_TRACES_SAMPLER is "traceidratio": this program only knows always_on, parentbased_always_on and always_off`, []string{on, "OTEL_TRACES_SAMPLER=traceidratio"}},
	} {
		run, got := newRun(), ""
		r, err := Open(run, false, Options{Environ: c.environ})
		if err != nil {
			got = err.Error()
		}
		assert.Check(t, got == c.want && r == nil && run.Trace == nil, "%q: got %v, the error %q and the trace %v, want the error %q", c.environ, r, got, run.Trace, c.want)
	}
}

// TestSamplers checks that the first process of a run decides whether the trace is sampled, and
// that later processes keep this decision.
func TestSamplers(t *testing.T) {
	dropped := outside[:len(outside)-1] + "0"
	for _, c := range []struct {
		parent, sampler string
		want            bool
	}{
		{"", "", true}, {outside, "", true}, {dropped, "", false}, {dropped, "parentbased_always_on", false}, {dropped, "always_on", true},
	} {
		collector, run := startCollector(t), newRun()
		exportRun(t, run, Options{Environ: collector.environ("TRACEPARENT="+c.parent, "OTEL_TRACES_SAMPLER="+c.sampler)}, runEvent(3, &state.RunFinished{Status: state.Suspended}))
		run = reload(t, run)
		run.Progress.Events, run.Progress.Status = 3, state.Suspended
		exportRun(t, run, Options{Environ: collector.environ()}, runEvent(5, &state.RunFinished{Status: state.Completed}))
		n := len(collector.spans())
		assert.Check(t, (n == 2) == c.want && (n == 0) != c.want && run.Trace.RunSpan().Sampled == c.want, "%+v: got %d spans, and the children's traceparent %s", c, n, run.Trace.RunSpan())
	}
}
