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
	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

var updateEvents = flag.Bool("update-events", false, "write testdata/events.jsonl anew")

var eventTime = time.Date(2026, 3, 1, 9, 0, 0, 7_654_321, time.UTC)

// Fill sets every field of v that is saved to a value other than zero.
func Fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Fill(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(eventTime.Truncate(time.Second)))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				Fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		Fill(v.Index(0))
		Fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		Fill(value)
		v.SetMapIndex(reflect.ValueOf("<b>&"), value)
	case reflect.String:
		v.SetString("a \"text\" with <goto>B.md</goto>\n")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Interface:
		v.Set(reflect.ValueOf(&AgentOutput{Text: "x"}))
	default:
		v.SetInt(1_500_000_001)
	}
}

// bodySamples returns two bodies of each type, an empty one and one with all fields set. They are sorted by
// type.
func bodySamples() []Body {
	var names []string
	for name := range bodies {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []Body
	for _, name := range names {
		empty, full := reflect.New(bodies[name]), reflect.New(bodies[name])
		Fill(full.Elem())
		// Lists and maps without omitempty are never null.
		for i := range empty.Elem().NumField() {
			switch f := empty.Elem().Field(i); {
			case strings.HasSuffix(bodies[name].Field(i).Tag.Get("json"), ",omitempty"):
			case f.Kind() == reflect.Slice:
				f.Set(reflect.MakeSlice(f.Type(), 0, 0))
			case f.Kind() == reflect.Map:
				f.Set(reflect.MakeMap(f.Type()))
			}
		}
		out = append(out, empty.Interface().(Body), full.Interface().(Body))
	}
	return out
}

// TestEventLines compares the log lines of all types of events with testdata/events.jsonl, and checks that
// reading the lines returns the same events. With -update-events, it rewrites the file.
func TestEventLines(t *testing.T) {
	var got bytes.Buffer
	for i, body := range bodySamples() {
		e := Event{Seq: i + 1, Time: eventTime.In(time.FixedZone("", 3600)), Body: body}
		if i%2 == 1 {
			e.Agent, e.State = "main", "START.md"
		}
		line, err := e.Line("demo-1a2b3c4d")
		assert.NilError(t, err)
		got.Write(line)
		var read Event
		assert.NilError(t, json.Unmarshal(line, &read), line)
		e.Time = eventTime.Truncate(time.Millisecond)
		assert.Check(t, is.DeepEqual(read, e), line)
	}
	const file = "testdata/events.jsonl"
	if *updateEvents {
		assert.NilError(t, os.WriteFile(file, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	assert.NilError(t, err)
	assert.Check(t, is.DeepEqual(got.String(), string(want)), file)
}

// FuzzEvent checks that if a text can be read as an event, the event can be written as one line, and reading
// that line returns the same event.
func FuzzEvent(f *testing.F) {
	data, err := os.ReadFile("testdata/events.jsonl")
	assert.NilError(f, err)
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
		assert.NilError(t, err, "%q was read as %+v, which can't be written", data, first)
		if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' || !utf8.Valid(line) {
			t.Fatalf("%q was written as %q, want one line of UTF-8", data, line)
		}
		assert.NilError(t, json.Unmarshal(line, &second), "%q was written as %q, which can't be read", data, line)
		assert.Check(t, is.DeepEqual(second, first, cmpopts.EquateEmpty()), "%q", data)
	})
}

// TestMapReachesEveryText checks that Map changes every text in every type of event, and does not change the
// original event.
func TestMapReachesEveryText(t *testing.T) {
	for _, body := range bodySamples() {
		e := Event{Seq: 1, Time: eventTime, Agent: "main", State: "S.md", Body: body}
		before, err := e.Line("id")
		assert.NilError(t, err)
		got, err := e.Map(func(s string) string { return strings.ReplaceAll(s, "text", "***") }).Line("id")
		want := strings.ReplaceAll(string(before), `\"text\"`, `\"***\"`)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", body.Type(), err, diff)
		}
		if after, err := e.Line("id"); string(after) != string(before) || err != nil {
			t.Errorf("%s itself changed (%v): %s", body.Type(), err, after)
		}
	}
}
