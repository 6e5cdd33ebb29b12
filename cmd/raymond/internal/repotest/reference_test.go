package repotest

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

// reference makes docs/reference.md of the code. What lacks a description is an
// error of the test.
type reference struct {
	t *testing.T
	b strings.Builder
}

func (r *reference) line(format string, args ...any) { fmt.Fprintf(&r.b, format+"\n", args...) }

func (r *reference) head(text string) { r.line("\n%s\n", text) }

// table writes a table; cells are escaped.
func (r *reference) table(names []string, rows [][]string) {
	r.line("| %s |", strings.Join(names, " | "))
	r.line("|%s", strings.Repeat("---|", len(names)))
	for _, row := range rows {
		for i, cell := range row {
			if strings.TrimSpace(cell) == "" && i != 1 {
				r.t.Errorf("reference: row %q: got an empty cell, want a description", row)
			}
			row[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		r.line("| %s |", strings.Join(row, " | "))
	}
}

func code(s string) string { return "`" + s + "`" }

// keyRows has the meaning of each name that the page gives below a heading: it is written there.
func (r *reference) keyRows(heading string, names []string) [][]string {
	var rows [][]string
	_, page, _ := strings.Cut(readText(r.t, "docs/reference.md"), heading+"\n")
	for _, name := range names {
		_, row, _ := strings.Cut(page, "\n| "+code(name)+" | ")
		meaning, _, _ := strings.Cut(row, " |\n")
		if len(strings.Fields(meaning)) < 3 {
			r.t.Errorf("docs/reference.md, %s: got the meaning %q of %s, want a sentence", heading, meaning, name)
		}
		rows = append(rows, []string{code(name), meaning})
	}
	return rows
}

// TestReferenceIsTheCode holds docs/reference.md to the code, and the code to
// describe everything that people can write or read.
func TestReferenceIsTheCode(t *testing.T) {
	r := &reference{t: t}
	r.line("# Reference")
	r.line("")
	r.line("Made from the code and [the schemas](schema/README.md) by `go test ./cmd/raymond/internal/repotest -run Reference -update-docs`; a test fails when it differs.")
	r.line("What it all means is in [language.md](language.md); [authoring.md](authoring.md) is the way in.")
	r.commands()
	r.exitCodes()
	r.frontmatter()
	r.replies()
	r.environment()
	r.events()
	r.lintCodes()
	generated(t, "docs/reference.md", regexp.MustCompile(`\n{3,}`).ReplaceAllString(r.b.String(), "\n\n"))
}

func (r *reference) commands() {
	r.head("## Commands")
	all := commands(r.t, "raymond")
	all[0].short = "the same as `raymond run PATH`"
	var rows [][]string
	for _, c := range all {
		rows = append(rows, []string{code(c.usage), c.short})
	}
	r.table([]string{"command", "does"}, rows)
	described := map[string]string{} // flags, by the command that has them first
	for i, c := range all {
		var flags string
		if i == 0 {
			flags = r.flags(c.flags)
		} else {
			flags = r.flagsBeside(all[0].flags, c.flags)
		}
		if flags == "" {
			continue
		}
		r.head("### " + c.path)
		if c.long != c.short && !strings.Contains(c.path, "completion") {
			r.line("%s\n", c.long)
		}
		if first := described[flags]; first != "" {
			r.line("Its flags are those of `%s`.", first)
			continue
		}
		described[flags] = c.path
		r.b.WriteString(flags)
	}
}

// flagsBeside names the flags that a command shares with raymond itself, and has a table of the
// others; "" for none.
func (r *reference) flagsBeside(base, flags []row) string {
	var shared []string
	own := slices.DeleteFunc(slices.Clone(flags), func(f row) bool {
		if !slices.Contains(base, f) {
			return false
		}
		if name := flagName(f); name != "" {
			shared = append(shared, code(name))
		}
		return true
	})
	part := r.flags(own)
	switch {
	case len(shared) == 0:
		return part
	case len(shared) >= len(base)-2: // all but -h and -v
		part = "It has all flags of `raymond`.\n\n" + part
	default:
		part = "Of the flags of `raymond` it has " + strings.Join(shared, ", ") + ".\n\n" + part
	}
	return strings.TrimSuffix(part, "\n\n") + "\n"
}

// flagName is how the page names a flag; "" for those that it leaves out.
func flagName(f row) string {
	name := strings.TrimSuffix(f.name, "[=true]")
	if strings.HasPrefix(name, "-h") || strings.HasPrefix(name, "-v") {
		return ""
	}
	return name
}

// flags is a table of flags; "" for none.
func (r *reference) flags(list []row) string {
	var rows [][]string
	for _, f := range list {
		name := flagName(f)
		if name == "" {
			continue
		}
		if len(strings.Fields(f.meaning)) < 2 {
			r.t.Errorf("flag %s: got the help %q, want a text", name, f.meaning)
		}
		rows = append(rows, []string{code(name), f.meaning})
	}
	if len(rows) == 0 {
		return ""
	}
	part := &reference{t: r.t}
	part.table([]string{"flag", "meaning"}, rows)
	return part.b.String()
}

func (r *reference) exitCodes() {
	r.head("## Exit codes")
	var rows [][]string
	for _, c := range exitCodes(r.t) {
		class := ""
		if c.class != "" {
			class = code(c.class)
		}
		rows = append(rows, []string{c.code, class, c.meaning})
	}
	r.table([]string{"code", "class", "meaning"}, rows)
}

func (r *reference) frontmatter() {
	r.keys("## Frontmatter of a prompt", protocol.Keys())
	r.keys("Entries of `allowed_transitions`:", protocol.EntryKeys())
	r.head("and the attributes of the tag, which must then have that value:")
	var rows [][]string
	for _, v := range protocol.Verbs() {
		var names []string
		for _, a := range protocol.Attributes(v) {
			names = append(names, code(a))
		}
		if v == protocol.Fork {
			names = append(names, "any other: a variable of the new agent")
		}
		if len(names) == 0 {
			names = []string{"none"}
		}
		rows = append(rows, []string{code("<" + string(v) + ">"), strings.Join(names, ", ")})
	}
	r.table([]string{"tag", "attributes"}, rows)
	r.keys("Keys of `backoff`:", []string{"base", "max"})
	r.head("Permission modes, from the one that allows least: " + words(protocol.PermissionModes()) + ".")
	r.head("## Options of a script")
	r.line("In a comment among the first ten lines: `# raymond: timeout=10m many_forks=true`.\n")
	r.table([]string{"option", "meaning"}, r.keyRows("## Options of a script", protocol.ScriptOptions()))
}

func (r *reference) keys(heading string, names []string) {
	r.head(heading)
	r.table([]string{"key", "meaning"}, r.keyRows(heading, names))
}

func words(list []string) string {
	var out []string
	for _, w := range list {
		out = append(out, code(w))
	}
	return strings.Join(out, ", ")
}

func (r *reference) replies() {
	r.head("## Replies file of simulate")
	schema := readSchema(r.t, "replies")
	for _, part := range []struct {
		title string
		of    described
		typ   reflect.Type
	}{
		{"At the top:", schema, reflect.TypeFor[simulate.Replies]()}, {"Each reply of a list below `states`:", schema.Defs["reply"], reflect.TypeFor[simulate.Reply]()},
		{"`error`:", schema.Defs["error"], reflect.TypeFor[simulate.Error]()}, {"`expect`:", schema.Defs["expect"], reflect.TypeFor[simulate.Expect]()},
	} {
		r.head(part.title)
		var rows [][]string
		for _, f := range fieldsOf(part.typ, "yaml") {
			rows = append(rows, []string{code(f.key), part.of.Properties[f.key].Description})
		}
		r.table([]string{"key", "meaning"}, rows)
	}
	r.line("")
	r.line("Classes of errors: %s. Status: %s. Outcome: %s.",
		words(schema.Defs["error"].Properties["class"].Enum), words(schema.Defs["expect"].Properties["status"].Enum), words(schema.Defs["expect"].Properties["outcome"].Enum))
}

func (r *reference) environment() {
	r.head("## Environment")
	var list [][]string
	for _, v := range rows(ask(r.t, "help", "environment")) {
		list = append(list, []string{code(v.name), v.meaning})
	}
	r.table([]string{"variable", "meaning"}, list)
}

func (r *reference) events() {
	r.head("## Events")
	r.line("One JSON object a line. All have:\n")
	events := readSchema(r.t, "events").Defs
	var envelope [][]string
	for _, key := range []string{"time", "seq", "type", "workflow_id", "agent", "state", "exec"} {
		envelope = append(envelope, []string{code(key), events["state_started"].Properties[key].Description})
	}
	r.table([]string{"field", "meaning"}, envelope)
	for _, body := range eventBodies {
		of := events[body.Type()]
		r.head("### " + body.Type())
		if len(strings.Fields(of.Description)) < 3 {
			r.t.Fatalf("event %s: got the description %q, want a sentence", body.Type(), of.Description)
		}
		r.line("%s\n", strings.ToUpper(of.Description[:1])+of.Description[1:])
		r.eventFields(of, reflect.TypeOf(body).Elem())
	}
	r.head("`done_when_results`:")
	r.eventFields(events["commandresult"], reflect.TypeFor[state.CommandResult]())
}

func (r *reference) eventFields(of described, typ reflect.Type) {
	var rows [][]string
	for _, f := range fieldsOf(typ, "json") {
		always := "always"
		if !f.required {
			always = ""
		}
		rows = append(rows, []string{code(f.key), always, of.Properties[f.key].Description})
	}
	r.table([]string{"field", "there", "meaning"}, rows)
}

// lintCodes are written by hand.
func (r *reference) lintCodes() {
	_, section, _ := strings.Cut(readText(r.t, "docs/reference.md"), "## Lint codes\n\n")
	r.head("## Lint codes")
	r.b.WriteString(section)
}
