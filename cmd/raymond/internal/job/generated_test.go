package job

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"
)

// root is the repository.
const root = "../../../.."

// generated compares a file of the repository with what it should be.
func generated(t *testing.T, name, want string) {
	t.Helper()
	file := filepath.Join(root, name)
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	assert.NilError(t, err)
	assert.Check(t, is.DeepEqual(string(got), want), "%s is not as the tables have it; go test ./cmd/raymond/internal/job -run Generated -update rewrites it", name)
}

func TestActionIsGenerated(t *testing.T) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Made from the tables of cmd/raymond/internal/job:")
	line("# go test ./cmd/raymond/internal/job -run Generated -update")
	line("name: raymond-action")
	line("description: %q", "Runs workflows of coding agents, keeps each run so that later jobs can take it up, and shows what the agents did.")
	line("branding: {icon: repeat, color: purple}")
	line("\ninputs:")
	for _, in := range Inputs() {
		line("  %s:", in.Name)
		line("    description: %q", in.Text)
		line("    required: %v", in.Required)
		if in.Default != "" {
			line("    default: %q", in.Default)
		}
	}
	line("\noutputs:")
	for _, out := range Outputs() {
		line("  %s:", out.Name)
		line("    description: %q", out.Text)
	}
	line("\nruns: {using: node24, main: cmd/shim/main.js, post: cmd/shim/post.js, post-if: always()}")
	generated(t, "action.yml", b.String())
}

// cell is a text in a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func TestInputsPageIsGenerated(t *testing.T) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Inputs and outputs of the Action\n")
	line("Made from the code by `go test ./cmd/raymond/internal/job -run Generated -update`; a test fails when it differs.\n")
	line("An empty value stands for the default. Names in lists are separated by blanks, commas or line breaks. The inputs with a flag")
	line("mean what that flag of `raymond run` means; see [reference.md](reference.md).\n")
	table := func(title string, inputs []InputSpec) {
		line("## %s\n\n| input | default | flag | meaning |\n|---|---|---|---|", title)
		for _, in := range inputs {
			line("%s", inputRow(t, in))
		}
		line("")
	}
	isFirst := func(in InputSpec) bool { return slices.Contains(firstInputs, in.Name) }
	table("The ten to begin with", slices.DeleteFunc(Inputs(), func(in InputSpec) bool { return !isFirst(in) }))
	for _, g := range inputGroups {
		table(g.title, slices.DeleteFunc(slices.Clone(g.inputs), isFirst))
	}
	line("## Outputs\n")
	line("| output | meaning |\n|---|---|")
	for _, out := range Outputs() {
		line("| `%s` | %s |", out.Name, cell(out.Text))
	}
	b.WriteString(whoMayStart())
	generated(t, "docs/inputs.md", b.String())
}

// inputRow is the row of an input.
func inputRow(t *testing.T, in InputSpec) string {
	standard, flag := code(in.Default), code(in.Flag)
	if in.Required {
		standard = "required"
	}
	if in.Flag != "" && in.Default != "" {
		t.Errorf("input %s: got the default %q, want none: it would change the limit of a run that is resumed", in.Name, in.Default)
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |", in.Name, cell(standard), flag, cell(in.Text))
}

// The inputs that most workflows need, and all of them in groups, as docs/inputs.md has them.
var (
	firstInputs = []string{"workflow", "input", "meta", "anthropic-api-key", "model", "allowed-tools", "budget", "key", "state-key", "comment"}
	inputGroups = []inputGroup{
		{"Workflow, run and job", workflowInputs}, {"Limits", limitInputs}, {"Agents and keys", agentInputs},
		{"What is kept and resumed", keepingInputs}, {"What people see", showingInputs}, {"Security", securityInputs},
	}
)

type inputGroup struct {
	title  string
	inputs []InputSpec
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// whoMayStart is the part on events, made from the tables that decide.
func whoMayStart() string {
	list := func(set map[string]bool) string {
		var words []string
		for name := range set {
			words = append(words, code(name))
		}
		slices.Sort(words)
		return strings.Join(words, ", ")
	}
	return `
## Who may start it

These events need write permission to cause, and nobody is asked: ` + list(ofNobody) + `.

For these the API is asked for the permission of the event's sender (on a re-run also of who started it again, for a
` + "`workflow_run`" + ` also of who caused the run before), which must be write or more: ` + list(ofPeople) + `.
` + "`allow-actors`" + ` names people who may start it without that. Bots may start it only if ` + "`allow-bots`" + ` names them, whatever their
permission is. What can't be found out is a no.

When they come from a fork, ` + list(notFromForks) + ` are refused unless ` + "`allow-events`" + ` names them, and so is
every event that is not named on this page. The sender is asked for all the same.
`
}
