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

// root is the root of the repository.
const root = "../../../.."

// checkGenerated compares a file of the repository with its expected content. With -update, it writes the
// file first.
func checkGenerated(t *testing.T, name, want string) {
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
	line("# Generated from the tables of cmd/raymond/internal/job:")
	line("# go test ./cmd/raymond/internal/job -run Generated -update")
	line("name: raymond-action")
	line("description: %q", "Runs workflows of coding agents, stores each run so that later jobs can resume it, and shows what the agents did.")
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
	checkGenerated(t, "action.yml", b.String())
}

// cell escapes a text for a cell of a Markdown table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func TestInputsPageIsGenerated(t *testing.T) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Inputs and outputs of the Action\n")
	line("All inputs and outputs of the action. Read it to look up an input; [action.md](action.md) explains how to set up the action. An empty value means the default.")
	line("Names in lists are separated by blanks, commas or line breaks. An input with a flag means the same as that flag of `raymond run`; see")
	line("[reference.md](reference.md).\n")
	line("<!-- Generated from the code by `go test ./cmd/raymond/internal/job -run Generated -update`; a test fails if it differs. -->\n")
	table := func(title string, inputs []InputSpec) {
		line("## %s\n\n| input | default | flag | meaning |\n|---|---|---|---|", title)
		for _, in := range inputs {
			standard := code(in.Default)
			if in.Required {
				standard = "required"
			}
			assert.Check(t, in.Flag == "" || in.Default == "", "input %s: got a default and a flag, want no default: it would change the limit of a run that is resumed", in.Name)
			line("| `%s` | %s | %s | %s |", in.Name, cell(standard), code(in.Flag), cell(in.Text))
		}
		line("")
	}
	first := []string{"workflow", "input", "meta", "anthropic-api-key", "model", "allowed-tools", "budget", "key", "state-key", "comment"}
	isFirst := func(in InputSpec) bool { return slices.Contains(first, in.Name) }
	table("The ten most useful inputs", slices.DeleteFunc(Inputs(), func(in InputSpec) bool { return !isFirst(in) }))
	for _, g := range []struct {
		title  string
		inputs []InputSpec
	}{
		{"Workflow, run and job", workflowInputs}, {"Limits", limitInputs}, {"Agents and keys", agentInputs},
		{"Storing and resuming runs", keepingInputs}, {"Reports and comments", showingInputs}, {"Security", securityInputs},
	} {
		table(g.title, slices.DeleteFunc(slices.Clone(g.inputs), isFirst))
	}
	line("## Outputs\n")
	line("| output | meaning |\n|---|---|")
	for _, out := range Outputs() {
		line("| `%s` | %s |", out.Name, cell(out.Text))
	}
	b.WriteString(whoMayStart())
	checkGenerated(t, "docs/inputs.md", b.String())
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// whoMayStart returns the section on who may start a run. It is made from the tables that Authorize uses.
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

Only accounts with write permission can cause these events, so no permission is looked up: ` + list(writerEvents) + `.

For these events, the sender needs write permission or more, which the action looks up (on a re-run also for the account that started it, for a
` + "`workflow_run`" + ` also for the accounts that caused the run before): ` + list(userEvents) + `.
` + "`allow-actors`" + ` names people who may start it without write permission. Bots may start it only if ` + "`allow-bots`" + ` names them, whatever their
permission is. If a permission can't be determined, the run is denied.

From a fork, ` + list(notFromForks) + ` are refused unless ` + "`allow-events`" + ` names them, and so is
every event that is not named on this page. The permission of the sender is checked as well.
`
}
