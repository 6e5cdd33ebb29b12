package agents

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner"
)

var update = flag.Bool("update", false, "write the table of docs/agents.md anew")

// TestDocsShowAbilities: the table of what agent CLIs can do is made of what the program goes by.
func TestDocsShowAbilities(t *testing.T) {
	const path, begin, end = "../../docs/agents.md", "<!-- abilities -->\n", "<!-- end -->\n"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	now, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no %q and %q", path, begin, end)
	}
	want := abilityTable(Abilities())
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if now != want {
		t.Errorf("the table of %s is not as the code has it; go test ./runner/agents -run Docs -update rewrites it\ngot:\n%s\nwant:\n%s", path, now, want)
	}
}

// abilityRow is a row of the table: what it says of an agent CLI.
type abilityRow struct {
	title string
	cell  func(runner.Abilities) string
}

var abilityRows = []abilityRow{
	{"what it is", func(a runner.Abilities) string { return a.Title }},
	{"installed and tested version", func(a runner.Abilities) string {
		if pin, ok := Pins()[a.Backend]; ok {
			return pin.Version()
		}
		return "yours"
	}},
	{"continues a conversation (`goto`)", func(a runner.Abilities) string { return either(a.Resumes, "yes", "no: `goto` begins a new one") }},
	{"branches one (`call`)", func(a runner.Abilities) string { return either(a.Branches, "yes", "no: `call` is refused") }},
	{"who names a conversation", func(a runner.Abilities) string {
		return either(a.ChoosesID, "raymond", "the CLI, and raymond saves it as soon as it is told")
	}},
	{"resumed on another machine", func(a runner.Abilities) string { return either(a.Carries, "yes", "no") }},
	{"what was cut off is undone exactly", func(a runner.Abilities) string { return either(a.Cuts, "yes", "no") }},
	{"tells", func(a runner.Abilities) string { return either(a.TellsUSD, "dollars", "tokens") }},
	{"has a limit in dollars of its own", func(a runner.Abilities) string { return either(a.LimitsUSD, "yes", "no") }},
	{"lists of tools", func(a runner.Abilities) string {
		return either(a.ToolLists, "exact", "the stricter reading, with a note")
	}},
	{"permission modes that it knows exactly", func(a runner.Abilities) string {
		return either(len(a.PermissionModes) > 0, "`"+strings.Join(a.PermissionModes, "`, `")+"`", "none")
	}},
	{"key hidden from it and its tools", func(a runner.Abilities) string { return either(a.HidesKey, "yes", "no") }},
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// abilityTable is the table in Markdown, a column for each agent CLI.
func abilityTable(all []runner.Abilities) string {
	var b strings.Builder
	line := func(r abilityRow) {
		b.WriteString(strings.TrimRight("| "+r.title, " ") + " |")
		for _, a := range all {
			b.WriteString(" " + r.cell(a) + " |")
		}
		b.WriteString("\n")
	}
	line(abilityRow{"", func(a runner.Abilities) string { return "`" + a.Backend + "`" }})
	line(abilityRow{"---", func(runner.Abilities) string { return "---" }})
	for _, r := range abilityRows {
		line(r)
	}
	return b.String()
}
