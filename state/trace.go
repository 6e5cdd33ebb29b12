package state

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Trace is the OpenTelemetry trace of a run. It is saved so that later jobs add to the same trace. A run
// that was never exported has no Trace.
type Trace struct {
	ID string `json:"id" is:"trace"` // 32 hexadecimal digits
	// Parent is the span that started the run, 16 hexadecimal digits, or "".
	Parent string `json:"parent,omitempty" is:"span?"`
	// Segments counts the processes that have exported the run, including the present one.
	Segments int `json:"parts" is:"positive"`
	// Dropped is set if the parent span is not sampled, so the run is not recorded either.
	Dropped bool `json:"dropped,omitempty"`
	// Paused is set if the process that drives the run now does not export it.
	Paused bool `json:"paused,omitempty"`
}

// SpanRef identifies a span, like a W3C traceparent.
type SpanRef struct {
	Trace, Span string // 32 and 16 hexadecimal digits
	Sampled     bool
}

var traceparent = text.Regexp(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// ParseTraceparent parses the value of TRACEPARENT or of a traceparent header. The second result is false
// for a value that must be ignored according to the W3C recommendation.
func ParseTraceparent(text string) (SpanRef, bool) {
	m := traceparent().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[1] == "ff" || m[1] == "00" && m[5] != "" || !isSet(m[2]) || !isSet(m[3]) {
		return SpanRef{}, false
	}
	flags, _ := strconv.ParseUint(m[4], 16, 8)
	return SpanRef{Trace: m[2], Span: m[3], Sampled: flags&1 == 1}, true
}

// String returns the traceparent of a span.
func (r SpanRef) String() string {
	flags := "00"
	if r.Sampled {
		flags = "01"
	}
	return "00-" + r.Trace + "-" + r.Span + "-" + flags
}

// NewTrace returns the trace of a new run: the trace of parent, or a new one if parent is zero.
func NewTrace(workflowID string, parent SpanRef) Trace {
	if parent.Trace != "" {
		return Trace{ID: parent.Trace, Parent: parent.Span, Dropped: !parent.Sampled}
	}
	return Trace{ID: digest(16, "raymond:"+workflowID)}
}

// The ids of spans are derived from names. Every job therefore knows the ids of spans that other jobs
// have created or have not yet ended.

// RunSpan returns the root span of the run.
func (t Trace) RunSpan() SpanRef { return t.span("run") }

// SegmentSpan returns the span of a process that continues the run in a later job. name identifies the
// process within the run.
func (t Trace) SegmentSpan(name string) SpanRef { return t.span("part", name) }

// ExecSpan returns the span of an agent's state execution, by its number.
func (t Trace) ExecSpan(agent string, exec int) SpanRef {
	return t.span("exec", agent, strconv.Itoa(exec))
}

// AttemptSpan returns the span of an attempt in a state execution.
func (t Trace) AttemptSpan(agent string, exec, attempt int) SpanRef {
	return t.span("attempt", agent, strconv.Itoa(exec), strconv.Itoa(attempt))
}

// span returns the span whose id is derived from words.
func (t Trace) span(words ...string) SpanRef {
	return SpanRef{Trace: t.ID, Span: digest(8, t.ID+"\x00"+strings.Join(words, "\x00")), Sampled: !t.Dropped}
}

// digest returns the first n bytes of the SHA-256 of text, in hexadecimal.
func digest(n int, text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:n])
}
