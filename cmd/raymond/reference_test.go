package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

func keyRows(keys []protocol.Key) [][]string {
	var rows [][]string
	for _, k := range keys {
		rows = append(rows, []string{code(k.Name), k.Meaning})
	}
	return rows
}

// TestReferenceIsTheCode holds docs/reference.md to the code, and the code to
// describe everything that people can write or read.
func TestReferenceIsTheCode(t *testing.T) {
	r := &reference{t: t}
	r.line("# Reference")
	r.line("")
	r.line("Made from the code by `go test ./cmd/raymond -run 'Schema|Reference' -update-docs`; a test fails when it differs.")
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
	app := &App{Stdout: io.Discard, Stderr: io.Discard}
	root := app.commands()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var rows [][]string
	for _, c := range allCommands(root) {
		if c.Runnable() {
			rows = append(rows, []string{code(strings.TrimSuffix(c.UseLine(), " [flags]")), c.Short})
		}
	}
	r.table([]string{"command", "does"}, rows)
	described := map[string]string{} // tables of flags, by the command that has them first
	for _, c := range allCommands(root) {
		flags := r.flags(c)
		if !c.Runnable() || flags == "" {
			continue
		}
		r.head("### " + c.CommandPath())
		if c.Long != "" && !strings.Contains(c.CommandPath(), "completion") {
			r.line("%s\n", c.Long)
		}
		if first := described[flags]; first != "" {
			r.line("Its flags are those of `%s`.", first)
			continue
		}
		described[flags] = c.CommandPath()
		r.b.WriteString(flags)
	}
}

// allCommands returns a command and those below it.
func allCommands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, allCommands(sub)...)
	}
	return all
}

// flags is the table of a command's own flags; "" for none.
func (r *reference) flags(c *cobra.Command) string {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	var rows [][]string
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "version" {
			return
		}
		kind := f.Value.Type()
		if f.Value.Type() == "bool" {
			kind = ""
		}
		if len(strings.Fields(f.Usage)) < 2 {
			r.t.Errorf("%s --%s: got the help %q, want a text", c.CommandPath(), f.Name, f.Usage)
		}
		rows = append(rows, []string{code(strings.TrimSpace("--" + f.Name + " " + kind)), f.Usage})
	})
	if len(rows) == 0 {
		return ""
	}
	part := &reference{t: r.t}
	part.table([]string{"flag", "meaning"}, rows)
	return part.b.String()
}

func (r *reference) exitCodes() {
	r.head("## Exit codes")
	rows := [][]string{{"0", "", "completed"}}
	for _, c := range classesByCode() {
		rows = append(rows, []string{codeText(c), code(string(c)), classMeanings[c]})
	}
	r.table([]string{"code", "class", "meaning"}, rows)
}

func (r *reference) frontmatter() {
	r.head("## Frontmatter of a prompt")
	r.table([]string{"key", "meaning"}, keyRows(protocol.Keys()))
	r.head("Entries of `allowed_transitions`:")
	r.table([]string{"key", "meaning"}, keyRows(protocol.EntryKeys()))
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
	r.head("Keys of `backoff`:")
	r.table([]string{"key", "meaning"}, keyRows(protocol.BackoffKeys()))
	r.head("Permission modes, from the one that allows least: " + words(protocol.PermissionModes()) + ".")
	r.head("## Options of a script")
	r.line("In a comment among the first ten lines: `# raymond: timeout=10m many_forks=true`.\n")
	r.table([]string{"option", "meaning"}, keyRows(protocol.ScriptOptions()))
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
	doc := docOf(r.t, reflect.TypeFor[simulate.Replies]())
	for _, part := range []struct {
		title string
		typ   reflect.Type
	}{
		{"At the top:", reflect.TypeFor[simulate.Replies]()}, {"Each reply of a list below `states`:", reflect.TypeFor[simulate.Reply]()},
		{"`error`:", reflect.TypeFor[simulate.Error]()}, {"`expect`:", reflect.TypeFor[simulate.Expect]()},
	} {
		r.head(part.title)
		var rows [][]string
		for _, f := range fieldsOf(part.typ, "yaml") {
			owner, name, _ := strings.Cut(f.owner, ".")
			rows = append(rows, []string{code(f.key), doc.fields[owner][name]})
		}
		r.table([]string{"key", "meaning"}, rows)
	}
	r.line("")
	r.line("Classes of errors: %s. Status: %s. Outcome: %s.", words(simulate.Classes()), words(simulate.Statuses()), words(simulate.Outcomes()))
}

func (r *reference) environment() {
	r.head("## Environment")
	r.table([]string{"variable", "meaning"}, keyRows(variables))
}

func (r *reference) events() {
	r.head("## Events")
	r.line("One JSON object a line. All have:\n")
	doc := docOf(r.t, reflect.TypeFor[state.RunStarted]())
	r.table([]string{"field", "meaning"}, [][]string{
		{code("time"), doc.fields["envelope"]["Time"]}, {code("seq"), doc.fields["envelope"]["Seq"]},
		{code("type"), doc.fields["envelope"]["Type"]}, {code("workflow_id"), "of the run"},
		{code("agent"), doc.fields["envelope"]["Agent"]}, {code("state"), doc.fields["envelope"]["State"]},
	})
	types := eventTypes(r.t)
	for _, body := range eventBodies {
		typ := types[body.Type()]
		r.head("### " + body.Type())
		text := doc.types[typ.Name()]
		if len(strings.Fields(text)) < 3 {
			r.t.Errorf("event %s: got the comment %q, want a sentence", body.Type(), text)
		}
		r.line("%s\n", strings.ToUpper(text[:1])+text[1:])
		r.eventFields(doc, typ)
	}
	r.head("`done_when_results`:")
	r.eventFields(doc, reflect.TypeFor[state.CommandResult]())
}

func (r *reference) eventFields(doc *packageDoc, typ reflect.Type) {
	var rows [][]string
	for _, f := range fieldsOf(typ, "json") {
		owner, name, _ := strings.Cut(f.owner, ".")
		always := "always"
		if !f.required {
			always = ""
		}
		rows = append(rows, []string{code(f.key), always, doc.fields[owner][name]})
	}
	r.table([]string{"field", "there", "meaning"}, rows)
}

func (r *reference) lintCodes() {
	r.head("## Lint codes")
	r.table([]string{"code", "meaning"}, keyRows(protocol.Codes()))
}

// TestVariablesAreDescribed finds the variables of ours in the source. A prefix
// stands for all that begin with it.
func TestVariablesAreDescribed(t *testing.T) {
	name := regexp.MustCompile(`\bRAYMOND_[A-Z_]+`)
	used := map[string]bool{"NO_COLOR": true}
	for _, f := range sources(t) {
		if f.isTest() || strings.HasPrefix(f.name, "state/failpoint") || f.name == "cmd/raymond/topics.go" || strings.Contains(f.name, "/internal/stub") || strings.Contains(f.name, "/claudetest/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				for _, v := range name.FindAllString(lit.Value, -1) {
					if strings.HasSuffix(v, "_") {
						v += "NAME"
					}
					used[v] = true
				}
			}
			return true
		})
	}
	var described []string
	for _, v := range variables {
		described = append(described, v.Name)
	}
	slices.Sort(described)
	if got := sortedKeys(used); !slices.Equal(got, described) {
		t.Errorf("variables in the source: got %q, want those that help describes: %q", got, described)
	}
}

// TestClassesAreDescribed: each class of errors has an exit code and a meaning.
func TestClassesAreDescribed(t *testing.T) {
	for c := range exitCodes {
		if len(strings.Fields(classMeanings[c])) < 3 {
			t.Errorf("class %s: got the meaning %q, want a sentence", c, classMeanings[c])
		}
	}
	for c, meaning := range classMeanings {
		if row := fmt.Sprintf("`%s` | %s |", c, meaning); !strings.Contains(readText(t, "docs/cli.md"), row) {
			t.Errorf("docs/cli.md, exit codes: got no row that ends in %s", row)
		}
	}
	if len(classMeanings) != len(exitCodes) {
		t.Errorf("classes: got %d meanings for %d exit codes", len(classMeanings), len(exitCodes))
	}
}
