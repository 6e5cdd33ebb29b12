package state

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Trace is the OpenTelemetry trace of a run. It is saved so that later jobs add to the same trace. The
// field Run.Trace is nil if the run was never exported.
type Trace struct {
	ID string `json:"id" is:"trace"` // 32 hexadecimal digits
	// Parent is the id of the span that started the run: 16 hexadecimal digits, or "" without a parent.
	Parent string `json:"parent,omitempty" is:"span?"`
	// Segments counts the processes that have exported the run, including the current one.
	Segments int `json:"parts" is:"positive"`
	// Dropped is set if the parent span is not sampled. The run is then not recorded either.
	Dropped bool `json:"dropped,omitempty"`
	// Paused is set if the run has a trace, but the process that currently drives the run does not
	// export it.
	Paused bool `json:"paused,omitempty"`
}

// SpanRef identifies a span of a trace, like the traceparent header of the W3C.
type SpanRef struct {
	Trace, Span string // trace id with 32 hexadecimal digits, span id with 16
	Sampled     bool
}

// traceparent matches a traceparent header: version, trace id, id of the parent span, flags, and possibly more.
var traceparent = text.Regexp(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// ParseTraceparent parses the environment variable TRACEPARENT or a traceparent header. It returns false
// if the value must be ignored according to the W3C recommendation.
func ParseTraceparent(text string) (SpanRef, bool) {
	m := traceparent().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[1] == "ff" || m[1] == "00" && m[5] != "" || !isSet(m[2]) || !isSet(m[3]) {
		return SpanRef{}, false
	}
	flags, _ := strconv.ParseUint(m[4], 16, 8)
	return SpanRef{Trace: m[2], Span: m[3], Sampled: flags&1 == 1}, true
}

// String returns the span as the value of a traceparent header.
func (r SpanRef) String() string {
	flags := "00"
	if r.Sampled {
		flags = "01"
	}
	return "00-" + r.Trace + "-" + r.Span + "-" + flags
}

// NewTrace returns the trace of a new run. The run continues the trace of parent; if parent is zero,
// NewTrace begins a new trace.
func NewTrace(workflowID string, parent SpanRef) Trace {
	if parent.Trace != "" {
		return Trace{ID: parent.Trace, Parent: parent.Span, Dropped: !parent.Sampled}
	}
	return Trace{ID: digest(16, "raymond:"+workflowID)}
}

// The ids of spans are derived from names. Every job can therefore compute the ids of spans that other
// jobs have created, even if those spans have not ended.

// RunSpan returns the root span of the run.
func (t Trace) RunSpan() SpanRef { return t.span("run") }

// SegmentSpan returns the span of a process that continues the run in a later job. name identifies the
// process among the processes of the run.
func (t Trace) SegmentSpan(name string) SpanRef { return t.span("part", name) }

// ExecSpan returns the span of the agent's state execution with the number exec.
func (t Trace) ExecSpan(agent string, exec int) SpanRef {
	return t.span("exec", agent, strconv.Itoa(exec))
}

// AttemptSpan returns the span of an attempt within a state execution.
func (t Trace) AttemptSpan(agent string, exec, attempt int) SpanRef {
	return t.span("attempt", agent, strconv.Itoa(exec), strconv.Itoa(attempt))
}

// span returns the span whose id is derived from the trace id and the words.
func (t Trace) span(words ...string) SpanRef {
	return SpanRef{Trace: t.ID, Span: digest(8, t.ID+"\x00"+strings.Join(words, "\x00")), Sampled: !t.Dropped}
}

// digest returns the first n bytes of the SHA-256 of text, in hexadecimal.
func digest(n int, text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:n])
}
