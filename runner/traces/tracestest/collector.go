// Package tracestest is a collector of traces for tests: it listens on loopback and keeps what
// it is sent.
package tracestest

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it was sent.
type Span struct {
	Trace, ID, Parent, Name string // ids in hexadecimal; Parent is "" for none
	Start, End              time.Time
	Attributes, Resource    map[string]any // strings, bools, int64s and float64s
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

// New starts a collector, which ends with the test. first, when not nil, sees each request
// before, and answers it if it returns true.
func New(t testing.TB, first func(http.ResponseWriter, *http.Request) bool) *Collector {
	c := &Collector{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first == nil || !first(w, r) {
			c.take(w, r)
		}
	}))
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
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	data, err := io.ReadAll(body)
	var sent tracepb.TracesData
	if err == nil {
		err = proto.Unmarshal(data, &sent)
	}
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "this is no export of traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	for _, of := range sent.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, spanOf(s, of.Resource.GetAttributes()))
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func spanOf(s *tracepb.Span, resource []*commonpb.KeyValue) Span {
	out := Span{
		Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId), Name: s.Name,
		Start: timeOf(s.StartTimeUnixNano), End: timeOf(s.EndTimeUnixNano), Attributes: attributes(s.Attributes), Resource: attributes(resource),
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, Event{e.Name, timeOf(e.TimeUnixNano), attributes(e.Attributes)})
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, hex.EncodeToString(l.TraceId)+"-"+hex.EncodeToString(l.SpanId))
	}
	if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		out.Failed = s.Status.Message
	}
	return out
}

func timeOf(nanoseconds uint64) time.Time { return time.Unix(0, int64(nanoseconds)).UTC() }

func attributes(all []*commonpb.KeyValue) map[string]any {
	out := map[string]any{}
	for _, a := range all {
		switch v := a.Value.GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *commonpb.AnyValue_BoolValue:
			out[a.Key] = v.BoolValue
		case *commonpb.AnyValue_IntValue:
			out[a.Key] = v.IntValue
		case *commonpb.AnyValue_DoubleValue:
			out[a.Key] = v.DoubleValue
		}
	}
	return out
}
