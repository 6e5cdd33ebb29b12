// Package traces exports runs to OpenTelemetry collectors, with the JSON encoding of OTLP: one
// trace for each run, to which every job that drives the run adds spans.
//
// The root span belongs to the first process that drives the run. Below it are the spans of later
// processes and of all state executions; attempts are below their state execution. Spans are
// created from events after these have been saved, and only completed spans are sent. Span ids are
// derived with state.Trace.
//
// Failures are reported in one line when the run stops, and have no other effect.
package traces
