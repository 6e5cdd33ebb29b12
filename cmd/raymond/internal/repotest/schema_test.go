package repotest

import (
	"encoding/json"
	"flag"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

var updateDocs = flag.Bool("update-docs", false, "rewrite what pages show of other files")

// eventBodies contains every type of event, in the order of the documentation.
var eventBodies = []state.Body{
	&state.RunStarted{}, &state.StateStarted{}, &state.AgentOutput{}, &state.StateFinished{}, &state.Reminder{}, &state.Retry{},
	&state.Transition{}, &state.AgentStarted{}, &state.AgentFinished{}, &state.AgentWaits{}, &state.AgentGoesOn{},
	&state.NodeAttempt{}, &state.AttemptInterrupted{},
	&state.Checkpoint{}, &state.Limit{}, &state.RunFinished{},
}

// objectSchema is the part of a JSON Schema that describes one kind of object.
type objectSchema struct {
	Description string
	Properties  map[string]struct{ Description string }
	Required    []string
	Defs        map[string]objectSchema `json:"$defs"`
}

// readSchema reads the schema with this name in docs/schema.
func readSchema(t *testing.T, name string) (d objectSchema) {
	t.Helper()
	assert.NilError(t, json.Unmarshal([]byte(readText(t, "docs/schema/"+name+".schema.json")), &d))
	return d
}

// field is one key of an object in JSON or YAML.
type field struct {
	key      string
	required bool // the key is always written
}

// fieldsOf returns the keys of a struct in JSON or YAML, including the keys of embedded structs.
func fieldsOf(typ reflect.Type, tag string) []field {
	var found []field
	for _, f := range reflect.VisibleFields(typ) {
		name, options, _ := strings.Cut(f.Tag.Get(tag), ",")
		if !f.IsExported() || f.Anonymous || name == "-" || name == "" {
			continue
		}
		found = append(found, field{name, !strings.Contains(options, "omit")})
	}
	return found
}

// TestSchemasHaveTheKeysOfTheCode checks that the schemas of events and of replies files describe exactly the keys that the
// code reads or writes, and require exactly the keys that are always written.
func TestSchemasHaveTheKeysOfTheCode(t *testing.T) {
	t.Parallel()
	events, replies := readSchema(t, "events").Defs, readSchema(t, "replies")
	for _, body := range eventBodies {
		more := []field{{"time", true}, {"seq", true}, {"type", true}, {"workflow_id", true}}
		if name := body.Type(); !slices.Contains([]string{"run_started", "run_finished", "checkpoint"}, name) {
			more = append(more, field{"agent", name != "limit"}, field{"state", name != "limit"})
			if name != "agent_started" {
				more = append(more, field{"exec", false})
			}
		}
		wantKeys(t, body.Type(), events[body.Type()], append(more, fieldsOf(reflect.TypeOf(body).Elem(), "json")...))
	}
	wantKeys(t, "done_when_results", events["commandresult"], fieldsOf(reflect.TypeFor[state.CommandResult](), "json"))
	wantKeys(t, "replies", replies, fieldsOf(reflect.TypeFor[simulate.Replies](), "yaml"))
	wantKeys(t, "reply", replies.Defs["reply"], fieldsOf(reflect.TypeFor[simulate.Reply](), "yaml"))
	wantKeys(t, "error", replies.Defs["error"], fieldsOf(reflect.TypeFor[simulate.Error](), "yaml"))
	wantKeys(t, "expect", replies.Defs["expect"], fieldsOf(reflect.TypeFor[simulate.Expect](), "yaml"))
}

func wantKeys(t *testing.T, what string, d objectSchema, fields []field) {
	t.Helper()
	var keys, required []string
	for _, f := range fields {
		keys = append(keys, f.key)
		if f.required {
			required = append(required, f.key)
		}
	}
	slices.Sort(keys)
	slices.Sort(required)
	slices.Sort(d.Required)
	if got := slices.Sorted(maps.Keys(d.Properties)); !slices.Equal(got, keys) || !slices.Equal(d.Required, required) {
		t.Errorf("schema of %s: got the keys %q, of which it requires %q; want %q and %q", what, got, d.Required, keys, required)
	}
}
