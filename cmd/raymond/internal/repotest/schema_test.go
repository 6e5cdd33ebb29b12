package repotest

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

var updateDocs = flag.Bool("update-docs", false, "rewrite docs/schema and docs/reference.md from the code")

// eventBodies is one of each event, in the order of the documentation.
var eventBodies = []state.Body{
	&state.RunStarted{}, &state.StateStarted{}, &state.AgentOutput{}, &state.StateFinished{}, &state.Reminder{}, &state.Retry{},
	&state.Transition{}, &state.AgentStarted{}, &state.AgentFinished{}, &state.AgentWaits{}, &state.AgentGoesOn{},
	&state.NodeAttempt{}, &state.AttemptInterrupted{},
	&state.Checkpoint{}, &state.Limit{}, &state.RunFinished{},
}

// object is a JSON object under construction.
type object = map[string]any

// schemaBuilder makes a JSON Schema of Go types.
type schemaBuilder struct {
	t      *testing.T
	tag    string // of struct fields: json or yaml
	docs   map[string]*packageDoc
	defs   object
	leaves map[reflect.Type]object
	refine map[string]object // more about a field, by its owner
}

func newSchemaBuilder(t *testing.T, tag string) *schemaBuilder {
	return &schemaBuilder{
		t: t, tag: tag, docs: map[string]*packageDoc{}, defs: object{}, leaves: maps.Clone(leaves), refine: map[string]object{},
	}
}

func (b *schemaBuilder) doc(typ reflect.Type) *packageDoc {
	if b.docs[typ.PkgPath()] == nil {
		b.docs[typ.PkgPath()] = docOf(b.t, typ)
	}
	return b.docs[typ.PkgPath()]
}

// durationForm is the form of a Go duration.
const durationForm = `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

// leaves are the types that are written as something else than what they are.
var leaves = map[reflect.Type]object{
	reflect.TypeFor[time.Time]():      {"type": "string", "format": "date-time"},
	reflect.TypeFor[state.USD]():      {"type": "number", "minimum": 0, "maximum": 1e9},
	reflect.TypeFor[state.Duration](): {"type": "string", "pattern": durationForm},
	reflect.TypeFor[state.Text](): {"oneOf": []any{
		object{"type": "string"},
		object{"type": "object", "properties": object{"base64": object{"type": "string", "contentEncoding": "base64"}},
			"required": []string{"base64"}, "additionalProperties": false},
	}},
	reflect.TypeFor[simulate.Cost]():  {"type": "number", "minimum": 0, "maximum": 1e9},
	reflect.TypeFor[simulate.Delay](): {"type": "string", "pattern": durationForm},
	reflect.TypeFor[simulate.Text]():  {"type": "string"},
}

// of returns the schema of a type.
func (b *schemaBuilder) of(typ reflect.Type) object {
	if leaf, ok := b.leaves[typ]; ok {
		return maps.Clone(leaf)
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return b.of(typ.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.String:
		out := object{"type": "string"}
		if strings.HasPrefix(typ.PkgPath(), module) {
			if words := b.doc(typ).values[typ.Name()]; len(words) > 0 {
				out["enum"] = words
			}
		}
		return out
	case reflect.Slice:
		out := object{"type": "array", "items": b.of(typ.Elem())}
		if b.tag == "yaml" {
			out["minItems"] = 1
		}
		return out
	case reflect.Map:
		return object{"type": "object", "additionalProperties": b.of(typ.Elem())}
	case reflect.Struct:
		name := strings.ToLower(typ.Name())
		if b.defs[name] == nil {
			b.defs[name] = object{} // ends the recursion
			b.defs[name] = b.object(typ)
		}
		return object{"$ref": "#/$defs/" + name}
	}
	b.t.Fatalf("no schema for %v", typ)
	return nil
}

// object returns the schema of a struct: what it always has is required, and
// nothing is allowed that it does not have.
func (b *schemaBuilder) object(typ reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range fieldsOf(typ, b.tag) {
		p := b.of(f.typ)
		maps.Copy(p, b.refine[f.owner])
		if text := b.text(typ, f); text != "" {
			p["description"] = text
		} else {
			b.t.Errorf("%s: got no description, want one at the field", f.owner)
		}
		properties[f.key] = p
		if f.required {
			required = append(required, f.key)
		}
	}
	out := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func (b *schemaBuilder) text(typ reflect.Type, f field) string {
	owner, name, _ := strings.Cut(f.owner, ".")
	return b.doc(typ).fields[owner][name]
}

// encode returns a schema as its file has it.
func (b *schemaBuilder) encode(file, title string, root object) string {
	head := object{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
	maps.Copy(head, root)
	if len(b.defs) > 0 {
		head["$defs"] = b.defs
	}
	var buffer bytes.Buffer
	enc := json.NewEncoder(&buffer)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(head); err != nil {
		b.t.Fatalf("%s: %v", file, err)
	}
	return buffer.String()
}

// generated compares a file of docs with what the code says it is.
func generated(t *testing.T, path, got string) {
	t.Helper()
	if *updateDocs && !t.Failed() {
		rewrite(t, path, got)
	}
	if d := cmp.Diff(readText(t, path), got); d != "" {
		t.Errorf("%s is not as the code has it; go test ./cmd/raymond/internal/repotest -run 'Schema|Reference' -update-docs rewrites it (-file +code):\n%s", path, d)
	}
}

// limits are the values of which in the event limit.
var limits = []string{"budget", "iterations", "agents", "depth", "deadline", "usage"}

// addEvents defines the events.
func (b *schemaBuilder) addEvents() {
	b.refine["StateStarted.Kind"] = object{"enum": []string{string(protocol.Prompt), string(protocol.Script)}}
	b.refine["Transition.Tag"] = object{"enum": protocol.Verbs()}
	b.refine["Limit.Which"] = object{"enum": limits}
	b.refine["RunFinished.Status"] = object{"enum": simulate.Statuses()}
	b.refine["RunFinished.Outcome"] = object{"enum": simulate.Outcomes()}
	b.refine["RunFinished.Detail"] = object{"enum": []string{"partial", "catastrophic"}}
	var branches []any
	for _, body := range eventBodies {
		name := body.Type()
		b.defs[name] = b.event(name, reflect.TypeOf(body).Elem())
		branches = append(branches, object{"$ref": "#/$defs/" + name})
	}
	b.defs["event"] = object{"oneOf": branches}
}

// event is one event: the envelope and the body in one object.
func (b *schemaBuilder) event(name string, typ reflect.Type) object {
	out := b.object(typ)
	out["description"] = b.doc(typ).types[typ.Name()]
	texts := b.doc(typ).fields["envelope"]
	properties, required := out["properties"].(object), []string{"time", "seq", "type", "workflow_id"}
	properties["time"] = object{"type": "string", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, "description": texts["Time"]}
	properties["seq"] = object{"type": "integer", "minimum": 1, "description": texts["Seq"]}
	properties["type"] = object{"const": name, "description": texts["Type"]}
	properties["workflow_id"] = object{"type": "string", "pattern": idPattern, "description": texts["WorkflowID"]}
	if !slices.Contains([]string{"run_started", "run_finished", "checkpoint"}, name) {
		properties["agent"] = object{"type": "string", "pattern": agentPattern, "description": texts["Agent"]}
		properties["state"] = object{"type": "string", "minLength": 1, "description": texts["State"]}
		if name != "limit" {
			required = append(required, "agent", "state")
		}
		if name != "agent_started" {
			properties["exec"] = object{"type": "integer", "minimum": 1, "description": texts["Exec"]}
		}
	}
	own, _ := out["required"].([]string)
	out["required"] = append(required, own...)
	return out
}

const (
	idPattern    = `^[a-z0-9][a-z0-9-]{0,63}$`
	agentPattern = `^main(_[a-z0-9_]{0,6}[0-9]+)*$`
)

func TestSchemaOfEvents(t *testing.T) {
	b := newSchemaBuilder(t, "json")
	b.addEvents()
	root := maps.Clone(b.defs["event"].(object))
	delete(b.defs, "event")
	root["description"] = "One line of the event log: events.jsonl of a run, and what --events gets."
	generated(t, "docs/schema/events.schema.json", b.encode("events", "event of a raymond run", root))
}

func TestSchemaOfReplies(t *testing.T) {
	b := newSchemaBuilder(t, "yaml")
	list := object{"type": "array", "minItems": 1, "items": object{"type": "string", "minLength": 1}}
	b.leaves[reflect.TypeFor[simulate.Path]()] = object{"oneOf": []any{list, object{
		"type": "object", "propertyNames": object{"pattern": agentPattern}, "additionalProperties": list,
	}}}
	text := object{"type": "string"}
	b.leaves[reflect.TypeFor[simulate.Answer]()] = object{"oneOf": []any{text, object{
		"type": "object", "properties": object{"agent": object{"type": "string", "pattern": agentPattern}, "text": text},
		"required": []string{"text"}, "additionalProperties": false,
	}}}
	b.refine["Replies.Answers"] = object{"minItems": 1}
	b.refine["Replies.Meta"] = object{"propertyNames": object{"pattern": `^[A-Za-z0-9_]+$`}}
	b.refine["Replies.States"] = object{"propertyNames": object{"pattern": `^(main(_[a-z0-9_]{0,6}[0-9]+)*/)?[^/]+$`}}
	b.refine["Reply.Checks"] = object{"maxItems": 64, "items": object{"type": "integer", "minimum": 0, "maximum": 255}}
	b.refine["Error.Class"] = object{"enum": simulate.Classes()}
	b.refine["Error.Message"] = object{"pattern": `\S`}
	b.refine["Expect.Status"] = object{"enum": simulate.Statuses()}
	b.refine["Expect.Outcome"] = object{"enum": simulate.Outcomes()}
	root := b.object(reflect.TypeFor[simulate.Replies]())
	root["description"] = "What the agents say when raymond simulate runs a workflow, and what is expected of the run."
	root["anyOf"] = []any{object{"required": []string{"states"}}, object{"required": []string{"answers"}}, object{"required": []string{"expect"}}}
	b.defs["reply"].(object)["not"] = object{"required": []string{"error"}, "anyOf": []any{
		object{"required": []string{"text"}}, object{"required": []string{"checks"}},
	}}
	generated(t, "docs/schema/replies.schema.json", b.encode("replies", "replies file of raymond simulate", root))
}
