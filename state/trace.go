package state

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Trace is the OpenTelemetry trace that a run is exported as. It is kept so that later jobs
// add to the same trace. A run that was never exported has none.
type Trace struct {
	ID string `json:"id" is:"trace"` // 32 hexadecimal digits
	// Parent is the span of whoever started the run, 16 hexadecimal digits; "" for none.
	Parent string `json:"parent,omitempty" is:"span?"`
	// Segments counts the processes that have exported the run, with the one that does so now.
	Segments int `json:"parts" is:"positive"`
	// Dropped says that whoever started the run wanted nothing of it recorded.
	Dropped bool `json:"dropped,omitempty"`
	// Paused says that the process that drives the run now does not export it.
	Paused bool `json:"paused,omitempty"`
}

// SpanRef names a span as a traceparent of the W3C does.
type SpanRef struct {
	Trace, Span string // 32 and 16 hexadecimal digits
	Sampled     bool
}

var traceparent = text.Regexp(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// ParseTraceparent reads a value of the variable or the header of that name. The second
// value is false for one that the W3C's recommendation tells to ignore.
func ParseTraceparent(text string) (SpanRef, bool) {
	m := traceparent().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[1] == "ff" || m[1] == "00" && m[5] != "" || !isSet(m[2]) || !isSet(m[3]) {
		return SpanRef{}, false
	}
	flags, _ := strconv.ParseUint(m[4], 16, 8)
	return SpanRef{Trace: m[2], Span: m[3], Sampled: flags&1 == 1}, true
}

// String is the traceparent of a span.
func (r SpanRef) String() string {
	flags := "00"
	if r.Sampled {
		flags = "01"
	}
	return "00-" + r.Trace + "-" + r.Span + "-" + flags
}

// NewTrace is the trace of a run. Of a run that was started by a span it is the trace of that.
func NewTrace(workflowID string, parent SpanRef) Trace {
	if parent.Trace != "" {
		return Trace{ID: parent.Trace, Parent: parent.Span, Dropped: !parent.Sampled}
	}
	return Trace{ID: digest(16, "raymond:"+workflowID)}
}

// The ids of spans are derived, so that every job knows those of the others, and what a span
// is told to its children before it has ended.

// RunSpan is the span that all others of the run are below.
func (t Trace) RunSpan() SpanRef { return t.span("run") }

// SegmentSpan is the span of a process that drives the run in a later job. name is unique among
// them.
func (t Trace) SegmentSpan(name string) SpanRef { return t.span("part", name) }

// ExecSpan is the span of a state execution of an agent, by its number.
func (t Trace) ExecSpan(agent string, exec int) SpanRef {
	return t.span("exec", agent, strconv.Itoa(exec))
}

// AttemptSpan is the span of an attempt in a state execution.
func (t Trace) AttemptSpan(agent string, exec, attempt int) SpanRef {
	return t.span("attempt", agent, strconv.Itoa(exec), strconv.Itoa(attempt))
}

func (t Trace) span(words ...string) SpanRef {
	return SpanRef{Trace: t.ID, Span: digest(8, t.ID+"\x00"+strings.Join(words, "\x00")), Sampled: !t.Dropped}
}

// digest returns the first bytes of a SHA-256, in hexadecimal.
func digest(n int, text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:n])
}
