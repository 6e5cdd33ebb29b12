package tracestest

import (
	"strconv"
	"time"
)

// export is an ExportTraceServiceRequest in the JSON of OTLP, as a collector reads it.
type export struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []keyValue }
		ScopeSpans []struct {
			Scope struct{ Name, Version string }
			Spans []sent
		}
	}
}

type keyValue struct {
	Key   string
	Value map[string]any // has one entry, which is named for its type
}

type sent struct {
	TraceID, SpanID, ParentSpanID      string
	Name                               string
	Kind, DroppedEventsCount           int
	StartTimeUnixNano, EndTimeUnixNano string
	Attributes                         []keyValue
	Events                             []struct {
		TimeUnixNano, Name string
		Attributes         []keyValue
	}
	Links  []struct{ TraceID, SpanID string }
	Status struct {
		Code    int
		Message string
	}
}

func (s sent) read(resource []keyValue) Span {
	out := Span{
		Trace: s.TraceID, ID: s.SpanID, Parent: s.ParentSpanID, Name: s.Name, Start: timeOf(s.StartTimeUnixNano), End: timeOf(s.EndTimeUnixNano),
		Attributes: attributes(s.Attributes), Resource: attributes(resource),
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, Event{e.Name, timeOf(e.TimeUnixNano), attributes(e.Attributes)})
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, l.TraceID+"-"+l.SpanID)
	}
	if s.Status.Code == 2 {
		out.Failed = s.Status.Message
	}
	return out
}

func timeOf(nanoseconds string) time.Time {
	n, err := strconv.ParseInt(nanoseconds, 10, 64)
	if err != nil {
		panic("a time of the export: " + err.Error())
	}
	return time.Unix(0, n).UTC()
}

func attributes(all []keyValue) map[string]any {
	out := map[string]any{}
	for _, a := range all {
		for _, value := range a.Value {
			out[a.Key] = value
		}
	}
	return out
}
