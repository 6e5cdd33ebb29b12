// Package traces exports runs to OpenTelemetry collectors, in the JSON encoding of OTLP. Each run
// is one trace, and every job that drives the run adds spans to it.
//
// The root span represents the first process that drives the run. Its children are the spans of
// later processes and of all state executions. The spans of attempts are children of the span of
// their state execution. Spans are created from events that have already been saved, and are sent
// when they are complete. Their ids are computed by state.Trace, so that different processes use
// the same ids.
//
// If spans can't be sent, one line reports this when the run stops. The run is not affected
// otherwise.
package traces
