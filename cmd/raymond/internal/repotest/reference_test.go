package repotest

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

// reference is docs/reference.md, the list of everything that users write and read.
type reference struct {
	t    *testing.T
	page string
}

// has checks that the page contains the table row with this name and these cells.
func (r reference) has(name string, cells ...string) {
	r.t.Helper()
	row := "| `" + name + "` |"
	for _, cell := range cells {
		row += " " + strings.ReplaceAll(cell, "|", `\|`) + " |"
	}
	assert.Check(r.t, is.Contains(r.page, "\n"+row+"\n"), "docs/reference.md lacks the row\n%s", row)
}

// explains checks that for each name, the page contains a table row with a description.
func (r reference) explains(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if !regexp.MustCompile("(?m)^\\| `(?:# raymond: )?" + regexp.QuoteMeta(name) + "` \\| (\\S+ ){2,}\\S").MatchString(r.page) {
			r.t.Errorf("docs/reference.md lacks a row that explains %s", name)
		}
	}
}

// TestReferenceIsComplete checks that each command, flag, exit code, variable, key and field is on the page, with its
// description in the program or the schema.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	r := reference{t, readText(t, "docs/reference.md")}
	for _, c := range rows(section(output(t, "--help"), "Available Commands")) {
		help := output(t, c.name, "--help")
		_, usage, _ := strings.Cut(help, "\nUsage:\n  ")
		usage, _, _ = strings.Cut(usage, "\n")
		if c.name != "completion" {
			r.has(strings.TrimSuffix(usage, " [flags]"), c.meaning)
		}
		for _, f := range rows(section(help, "Flags")) {
			if !strings.HasPrefix(f.name, "-h, ") {
				r.has(strings.TrimSuffix(f.name, "[=true]"), f.meaning)
			}
		}
	}
	for _, c := range rows(output(t, "help", "exit-codes")) {
		if class, meaning, ok := strings.Cut(c.meaning, ": "); ok {
			assert.Check(t, is.Contains(r.page, "| "+c.name+" | `"+class+"` | "+meaning+" |\n"), "docs/reference.md lacks the exit code %s %s: %s", c.name, class, meaning)
		}
	}
	for _, v := range rows(output(t, "help", "environment")) {
		r.has(v.name, v.meaning)
	}
	r.explains(slices.Concat(protocol.Keys(), protocol.EntryKeys(), protocol.ScriptOptions())...)
	for _, v := range protocol.Verbs() {
		_, attributes, _ := strings.Cut(r.page, "\n| `<"+string(v)+">` | ")
		attributes, _, _ = strings.Cut(attributes, " |\n")
		for _, a := range protocol.Attributes(v) {
			assert.Check(t, is.Contains(attributes, "`"+a+"`"), "docs/reference.md, <%s>: attributes", v)
		}
	}
	events, replies := readSchema(t, "events").Defs, readSchema(t, "replies")
	for _, body := range eventBodies {
		r.fields(events[body.Type()], reflect.TypeOf(body).Elem(), "json")
	}
	r.fields(events["commandresult"], reflect.TypeFor[state.CommandResult](), "json")
	r.fields(replies, reflect.TypeFor[simulate.Replies](), "yaml")
	r.fields(replies.Defs["reply"], reflect.TypeFor[simulate.Reply](), "yaml")
	r.fields(replies.Defs["error"], reflect.TypeFor[simulate.Error](), "yaml")
	r.fields(replies.Defs["expect"], reflect.TypeFor[simulate.Expect](), "yaml")
}

// fields checks the rows for the fields of an object. Fields of events that are always present are marked "always".
func (r reference) fields(of objectSchema, typ reflect.Type, tag string) {
	r.t.Helper()
	for _, f := range fieldsOf(typ, tag) {
		meaning := cmp.Or(of.Properties[f.key].Description, "(a description in docs/schema)")
		switch {
		case tag == "yaml":
			r.has(f.key, meaning)
		case f.required:
			r.has(f.key, "always", meaning)
		default:
			r.has(f.key, "", meaning)
		}
	}
}
