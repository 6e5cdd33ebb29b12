// Package tracestest is a collector of traces for tests: it listens on loopback and keeps what
// it is sent.
package tracestest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Span is a span as it was sent.
type Span struct {
	Trace, ID, Parent, Name string // ids in hexadecimal; Parent is "" for none
	Start, End              time.Time
	Attributes, Resource    map[string]any // as JSON has them: 64-bit numbers are strings
	Events                  []Event
	Links                   []string // traces and spans, as "trace-span"
	Failed                  string   // why its status is an error; "" when it is none
}

// Event is an event of a span.
type Event struct {
	Name       string
	Time       time.Time
	Attributes map[string]any
}

// Collector keeps the spans that it is sent. Its methods may be called at any time.
type Collector struct {
	URL string // for OTEL_EXPORTER_OTLP_ENDPOINT

	mu      sync.Mutex
	spans   []Span
	headers []http.Header
}

// New starts a collector, which ends with the test.
func New(t testing.TB) *Collector {
	c := &Collector{}
	s := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// Environ turns the export to the collector on.
func (c *Collector) Environ() []string { return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL} }

// Spans returns the spans, in the order in which they began.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.spans)
	slices.SortStableFunc(all, func(a, b Span) int { return a.Start.Compare(b.Start) })
	return all
}

// Headers returns the headers of the requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	var sent export
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&sent); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "this is no export of traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	for _, of := range sent.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, s.read(of.Resource.Attributes))
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}
