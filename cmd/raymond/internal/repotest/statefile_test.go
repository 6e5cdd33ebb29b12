package repotest

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// stateSections says which heading of docs/state-file.md describes which type.
var stateSections = map[string]reflect.Type{
	"### The run":              reflect.TypeFor[state.Run](),
	"### options":              reflect.TypeFor[state.Options](),
	"### progress":             reflect.TypeFor[state.Progress](),
	"### agents[]":             reflect.TypeFor[state.Agent](),
	"### waits":                reflect.TypeFor[state.Waits](),
	"### question":             reflect.TypeFor[state.Question](),
	"### last":                 reflect.TypeFor[state.Last](),
	"### parts[]":              reflect.TypeFor[state.Part](),
	"### rerun_of":             reflect.TypeFor[state.RerunOf](),
	"### handover":             reflect.TypeFor[state.Handover](),
	"### began":                reflect.TypeFor[state.Began](),
	"### session":              reflect.TypeFor[state.Session](),
	"### stack[]":              reflect.TypeFor[state.Frame](),
	"### exec":                 reflect.TypeFor[state.Exec](),
	"### running":              reflect.TypeFor[state.Invocation](),
	"### asked":                reflect.TypeFor[protocol.Decision](),
	"### verdict":              reflect.TypeFor[state.NodeAttempt](),
	"### fault":                reflect.TypeFor[state.AgentFailure](),
	"### outage":               reflect.TypeFor[state.Outage](),
	"### caps[]":               reflect.TypeFor[state.Cap](),
	"### past":                 reflect.TypeFor[state.Past](),
	"### sums[]":               reflect.TypeFor[state.Sum](),
	"### ended[]":              reflect.TypeFor[state.Ending](),
	"### ledger[]":             reflect.TypeFor[state.Entry](),
	"## A line of the journal": reflect.TypeFor[state.Delta](),
}

// inRows says in which row of the document the fields of a small type stand.
var inRows = map[reflect.Type]string{
	reflect.TypeFor[protocol.Spawn]():      "spawns",
	reflect.TypeFor[protocol.Move]():       "then",
	reflect.TypeFor[protocol.Question]():   "then",
	reflect.TypeFor[state.CommandResult](): "done_when_results",
	reflect.TypeFor[state.ModelCost]():     "models",
	reflect.TypeFor[state.Reached]():       "reached",
	reflect.TypeFor[state.Refusal]():       "refusals",
	reflect.TypeFor[state.Usage]():         "metered",
	reflect.TypeFor[state.Tokens]():        "tokens",
	reflect.TypeFor[state.Trace]():         "trace",
	reflect.TypeFor[state.Price]():         "prices",
	reflect.TypeFor[state.Trace]():         "trace",
}

// TestStateFileIsDocumented holds docs/state-file.md to the types that are
// saved: every field has a row, and every row a field.
func TestStateFileIsDocumented(t *testing.T) {
	sections := documentedFields(t)
	for heading, typ := range stateSections {
		rows := sections[heading]
		for _, f := range fieldsOf(typ, "json") {
			if rows[f.key] == "" {
				t.Errorf("docs/state-file.md, %q: got no row for %q of %v", heading, f.key, typ)
			}
			delete(rows, f.key)
		}
		for f := range rows {
			t.Errorf("docs/state-file.md, %q: got a row for %q, which %v has not", heading, f, typ)
		}
	}
	text := readText(t, "docs/state-file.md")
	for typ, row := range inRows {
		line := regexp.MustCompile("(?m)^\\| `" + row + "` .*$").FindString(text)
		for _, f := range fieldsOf(typ, "json") {
			if !strings.Contains(line, "`"+f.key+"`") {
				t.Errorf("docs/state-file.md, row %q: got %q, want %q of %v in it", row, line, f.key, typ)
			}
		}
	}
}

// TestEverySavedTypeHasASection finds types that were added to the state.
func TestEverySavedTypeHasASection(t *testing.T) {
	known := []reflect.Type{reflect.TypeFor[state.Event]()} // the event log's own format
	for _, typ := range stateSections {
		known = append(known, typ)
	}
	for typ := range inRows {
		known = append(known, typ)
	}
	for _, root := range []reflect.Type{reflect.TypeFor[state.Run](), reflect.TypeFor[state.Delta]()} {
		for _, typ := range savedTypes(root, nil) {
			if !slices.Contains(known, typ) {
				t.Errorf("docs/state-file.md: got no section for %v, which is saved", typ)
			}
		}
	}
}

// documentedFields returns the tables below each heading: the fields and what is said
// of them.
func documentedFields(t *testing.T) map[string]map[string]string {
	t.Helper()
	row := regexp.MustCompile("^\\| `([^`]+)` \\| (.*\\w.*) \\|$")
	sections, heading := map[string]map[string]string{}, ""
	for _, line := range textLines(t, "docs/state-file.md") {
		if strings.HasPrefix(line, "#") {
			heading = line
			sections[heading] = map[string]string{}
		}
		if m := row.FindStringSubmatch(line); m != nil && heading != "" {
			sections[heading][m[1]] = m[2]
		}
	}
	return sections
}

// savedTypes returns the structs of this module that a value of typ may hold.
func savedTypes(typ reflect.Type, seen []reflect.Type) []reflect.Type {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return savedTypes(typ.Elem(), seen)
	case reflect.Struct:
	default:
		return seen
	}
	if slices.Contains(seen, typ) || !strings.HasPrefix(typ.PkgPath(), module) {
		return seen
	}
	seen = append(seen, typ)
	if typ == reflect.TypeFor[state.Event]() {
		return seen
	}
	for _, f := range reflect.VisibleFields(typ) {
		if f.IsExported() && !f.Anonymous {
			seen = savedTypes(f.Type, seen)
		}
	}
	return seen
}
