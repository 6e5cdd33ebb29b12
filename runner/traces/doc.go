// Package traces exports runs to collectors of OpenTelemetry, in the JSON of OTLP: one trace for each run, to which
// every job that drives it adds.
//
// The span of a run is that of the first process that drives it; those of later processes,
// and of all state executions, are below it, and attempts are below their state execution.
// Spans are made from events, which are told once they are saved, and only those that have
// ended are sent. Ids of spans are those of state.Trace.
//
// What can't be sent is told in one line when the run stops, and changes nothing else.
package traces
