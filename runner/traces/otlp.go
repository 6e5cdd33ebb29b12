package traces

import (
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// The types below are messages of OTLP in their JSON encoding: ids are hexadecimal, and 64-bit
// numbers are strings.

// export is an ExportTraceServiceRequest of OTLP.
type export struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type scopeSpans struct {
	Scope scope   `json:"scope"`
	Spans []*span `json:"spans"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

const (
	kindInternal = 1   // kind of a span: an operation inside this program
	codeError    = 2   // code of a status: an error
	maxEvents    = 128 // maximum number of events in a span; the oldest are dropped
)

type span struct {
	TraceID    string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      int64       `json:"startTimeUnixNano,string"`
	End        int64       `json:"endTimeUnixNano,string"`
	Attributes []attribute `json:"attributes"`
	Events     []event     `json:"events,omitempty"`
	Dropped    int         `json:"droppedEventsCount,omitempty"`
	Links      []link      `json:"links,omitempty"`
	Status     *status     `json:"status,omitempty"`
}

type event struct {
	Time       int64       `json:"timeUnixNano,string"`
	Name       string      `json:"name"`
	Attributes []attribute `json:"attributes,omitempty"`
}

type link struct {
	TraceID string `json:"traceId"`
	ID      string `json:"spanId"`
}

type status struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

// attribute is a KeyValue of OTLP. Value has one entry: its key is the name of the value's type.
type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

// textAttr returns an attribute with a string as its value.
func textAttr(name, value string) attribute {
	return attribute{name, map[string]any{"stringValue": value}}
}

// intAttr returns an attribute with an integer as its value.
func intAttr[N int | int64](name string, value N) attribute {
	return attribute{name, map[string]any{"intValue": strconv.FormatInt(int64(value), 10)}}
}

// floatAttr returns an attribute with a floating-point number as its value.
func floatAttr(name string, value float64) attribute {
	return attribute{name, map[string]any{"doubleValue": value}}
}

// boolAttr returns an attribute with a boolean as its value.
func boolAttr(name string, value bool) attribute {
	return attribute{name, map[string]any{"boolValue": value}}
}

// newSpan returns a span with the given name, start and ids. The parameter of contains its ids, and the
// parameter below the ids of its parent. If below is the zero value, the span has no parent.
func newSpan(of, below state.SpanRef, name string, began time.Time) *span {
	return &span{TraceID: of.Trace, ID: of.Span, Parent: below.Span, Name: name, Kind: kindInternal, Start: began.UnixNano()}
}

// set adds attributes. The span must not have attributes with these names yet.
func (s *span) set(about ...attribute) { s.Attributes = append(s.Attributes, about...) }

// fail sets the status of the span to an error with a message.
func (s *span) fail(why string) { s.Status = &status{why, codeError} }

// link adds a link to another span.
func (s *span) link(to state.SpanRef) { s.Links = append(s.Links, link{to.Trace, to.Span}) }

// addEvent adds an event to the span.
func (s *span) addEvent(at time.Time, name string, about ...attribute) {
	if len(s.Events) == maxEvents {
		s.Events = s.Events[1:]
		s.Dropped++
	}
	s.Events = append(s.Events, event{at.UnixNano(), name, about})
}
