package state

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var updateEvents = flag.Bool("update-events", false, "write testdata/events.jsonl anew")

var eventTime = time.Date(2026, 3, 1, 9, 0, 0, 7_654_321, time.UTC)

// logFields has, for each type of event, the fields that the log promises: those
// that are always there, zero or not, and those that only some events have.
var logFields = map[string]struct{ always, some string }{
	"run_started":         {"scope entry resumed budget_usd max_parallel", "rerun_of rerun_exec inherited_usd"},
	"state_started":       {"kind attempt cwd", "session session_id model"},
	"agent_output":        {"text", ""},
	"state_finished":      {"ok duration_ms cost_usd turns denied", "exit_code cost_estimated cost_unknown cost_unpriced models tokens session_id refusals agent_cli error signal stdout_tail stderr_tail"},
	"reminder":            {"n reason", ""},
	"retry":               {"n error backoff_ms", "service"},
	"transition":          {"tag target from", "return next"},
	"agent_started":       {"vars", "parent"},
	"agent_finished":      {"", "result error"},
	"node_attempt":        {"attempt duration_s converged cost_usd done_when_results", "backoff_s cost_estimated cost_unknown cost_unpriced reason"},
	"attempt_interrupted": {"attempt reason", ""},
	"checkpoint":          {"store seq_stored bytes duration_ms", "error"},
	"limit":               {"which value max", "cost_estimated cost_unknown cost_unpriced"},
	"agent_waits":         {"for", "until job question number where choices timeout_next from"},
	"agent_goes_on":       {"by", ""},
	"run_finished":        {"status outcome cost_usd iterations flake_retries duration_ms", "inherited_usd cost_estimated cost_unknown cost_unpriced detail reason result unfinished"},
}

// fillBody sets everything in v that the log shows to something that is not zero.
func fillBody(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillBody(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fillBody(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillBody(v.Index(0))
		fillBody(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fillBody(value)
		v.SetMapIndex(reflect.ValueOf("<b>&"), value)
	case reflect.String:
		v.SetString("a \"text\" with <goto>B.md</goto>\n")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.1)
	default:
		v.SetInt(1_500_000_001)
	}
}

// bodySamples returns a zero and a filled body of each type, in order of the types.
func bodySamples() []Body {
	var names []string
	for name := range bodies {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []Body
	for _, name := range names {
		full := reflect.New(bodies[name])
		fillBody(full.Elem())
		out = append(out, reflect.New(bodies[name]).Interface().(Body), full.Interface().(Body))
	}
	return out
}

// fieldNames returns the names in a JSON object that are not of the envelope.
func fieldNames(t *testing.T, line []byte) []string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	var names []string
	for name, value := range object {
		if string(value) == "null" {
			t.Errorf("%s: field %q is null", line, name)
		}
		if !slices.Contains(strings.Fields("time seq type workflow_id agent state"), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestEventHasTheFieldsOfTheLog states that an event has the fields the log
// promises for its type, those that are always there also when they are zero.
func TestEventHasTheFieldsOfTheLog(t *testing.T) {
	if len(bodies) != len(logFields) {
		t.Errorf("there are %d types of events, want %d", len(bodies), len(logFields))
	}
	for i, body := range bodySamples() {
		line, err := Event{Seq: 1, Time: eventTime, Body: body}.Line("x-1")
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(logFields[body.Type()].always)
		if filled := i%2 == 1; filled {
			want = append(want, strings.Fields(logFields[body.Type()].some)...)
		}
		slices.Sort(want)
		if got := fieldNames(t, line); !slices.Equal(got, want) {
			t.Errorf("%+v\n got fields %q\nwant fields %q", body, got, want)
		}
	}
}

// TestEventLines is a file pair: every type of event, zero and filled, and its
// line in the log.
func TestEventLines(t *testing.T) {
	var got bytes.Buffer
	for i, body := range bodySamples() {
		e := Event{Seq: i + 1, Time: eventTime.In(time.FixedZone("", 3600)), Body: body}
		if i%2 == 1 {
			e.Agent, e.State = "main", "START.md"
		}
		line, err := e.Line("demo-1a2b3c4d")
		if err != nil {
			t.Fatal(err)
		}
		got.Write(line)
	}
	const file = "testdata/events.jsonl"
	if *updateEvents {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// TestEventSurvivesTheLog states that an event that is read back is the one that
// was written, but for what is in no log.
func TestEventSurvivesTheLog(t *testing.T) {
	raw := Text("not UTF-8: \xff")
	all := append(bodySamples(), &AgentFinished{Result: &raw}, &RunFinished{Result: new(Text)},
		&StateFinished{Denied: []string{}}, &AgentStarted{Vars: map[string]string{}}, &NodeAttempt{Results: []CommandResult{}})
	for _, body := range all {
		want := Event{Seq: 3, Time: eventTime.Truncate(time.Millisecond), Agent: "main", State: "A.md", Body: body}
		before := reflect.ValueOf(body).Elem().Interface()
		line, err := want.Line("x-1")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, reflect.ValueOf(body).Elem().Interface()); diff != "" {
			t.Errorf("writing changed the event (-before +after):\n%s", diff)
		}
		var got Event
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		withoutLists(want.Body)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// TestEventWithoutBody states that such an event is an error, not a panic.
func TestEventWithoutBody(t *testing.T) {
	if line, err := (Event{Seq: 4}).Line("x-1"); err == nil || err.Error() != "event 4 has no body" {
		t.Errorf("line of an event without body = %q, %v", line, err)
	}
}

// TestNotAnEvent has what is refused.
func TestNotAnEvent(t *testing.T) {
	for _, text := range []string{
		`{}`, `null`, `[]`, `{"type":"party"}`, `{"type":"limit"}`, `{"type":"limit","time":"yesterday"}`,
		`{"type":"limit","time":"2026-03-01T09:00:00Z"}`,
		`{"type":"limit","time":"2026-03-01T09:00:00.000Z","value":"1"}`,
		`{"type":"run_started","time":"2026-03-01T09:00:00.000Z","budget_usd":-1}`,
		`{"type":"agent_finished","time":"2026-03-01T09:00:00.000Z","result":{"base64":"?"}}`,
	} {
		var e Event
		if err := json.Unmarshal([]byte(text), &e); err == nil {
			t.Errorf("%s was read as %+v, want an error", text, e)
		}
	}
}

// FuzzEvent states of any text: what can be read as an event can be written as
// one line, which is read as the same event.
func FuzzEvent(f *testing.F) {
	data, err := os.ReadFile("testdata/events.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		f.Add(line)
	}
	f.Add([]byte(`{"type":"agent_finished","time":"2026-03-01T09:00:00.000Z","result":{"base64":"/w=="}}`))
	f.Add([]byte(`{"type":"state_finished","time":"2026-03-01T09:00:00.000Z","denied":[null],"cost_usd":1e-9}`))
	f.Add([]byte(`{"type":"state_finished","time":"2026-03-01T09:00:00.000Z","models":{},"cost_usd":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second Event
		if json.Unmarshal(data, &first) != nil {
			return
		}
		line, err := first.Line("x-1")
		if err != nil {
			t.Fatalf("%q was read as %+v, which can't be written: %v", data, first, err)
		}
		if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' || !utf8.Valid(line) {
			t.Fatalf("%q was written as %q, want one line of UTF-8", data, line)
		}
		if err := json.Unmarshal(line, &second); err != nil {
			t.Fatalf("%q was written as %q, which can't be read: %v", data, line, err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%q (-first +second):\n%s", data, diff)
		}
	})
}
