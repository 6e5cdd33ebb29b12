package workflowtest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

var update = flag.Bool("update", false, "give actions in examples and pages the versions of .github/workflows")

// source is a file of the repository, or a YAML block of a page.
type source struct {
	name string // with slashes, relative to the root
	kind Kind
	text string
}

// glob returns the files that match one of the patterns; there have to be some.
func glob(t *testing.T, patterns ...string) []string {
	t.Helper()
	root := acttest.Root(t)
	var names []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p)))
		if err != nil || len(found) == 0 {
			t.Fatalf("files %s: got %q, %v, want some", p, found, err)
		}
		for _, path := range found {
			name, _ := filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(acttest.Root(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// shown are the files that have workflows for others to copy.
var shown = []string{"examples/*/workflow.yml", "README.md", "docs/*.md", "examples/*/README.md"}

// forOthers is the workflow that others call. It can't name the commit that it is in.
const forOthers = ".github/workflows/fan-out.yml"

var yamlBlock = regexp.MustCompile("(?s)```ya?ml\n(.*?)```")

// sources returns all workflows of the repository, and all YAML that it shows.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, name := range glob(t, ".github/workflows/*.yml", "action.yml") {
		kind := Ours
		if name == forOthers {
			kind = Shown
		}
		all = append(all, source{name, kind, read(t, name)})
	}
	for _, name := range glob(t, shown...) {
		if filepath.Ext(name) == ".yml" {
			all = append(all, source{name, Shown, read(t, name)})
			continue
		}
		for _, m := range yamlBlock.FindAllStringSubmatch(read(t, name), -1) {
			all = append(all, source{name, Shown, m[1]})
		}
	}
	return all
}

// TestEveryWorkflowIsClean: those that run here, and those that others copy.
func TestEveryWorkflowIsClean(t *testing.T) {
	workflows := map[Kind]int{}
	for _, s := range sources(t) {
		f := parse(t, s.name, s.kind, s.text)
		if f.IsWorkflow() {
			workflows[s.kind]++
		}
		for _, finding := range Audit(f) {
			t.Error(finding)
		}
	}
	if workflows[Ours] < 2 || workflows[Shown] < 5 {
		t.Errorf("workflows that were looked at: got %v, want two of ours and one of each example", workflows)
	}
}

// TestEveryWorkflowPassesActionlint also for the ones in pages.
func TestEveryWorkflowPassesActionlint(t *testing.T) {
	root := acttest.Root(t)
	lint := installtest.GoTool{
		Name: "actionlint", Dir: filepath.Join(root, ".github", "tools", "actionlint"), Package: "github.com/rhysd/actionlint/cmd/actionlint",
	}.Install(t)
	dir := t.TempDir()
	args := []string{"-shellcheck=", "-pyflakes="} // which not every machine has
	for _, s := range sources(t) {
		if s.name == "action.yml" || !parse(t, s.name, s.kind, s.text).IsWorkflow() {
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(s.name))
		if filepath.Ext(s.name) == ".md" {
			f, err := os.CreateTemp(dir, strings.ReplaceAll(s.name, "/", "-")+"-*.yml")
			if err != nil {
				t.Fatal(err)
			}
			path = f.Name()
			if _, err := f.WriteString(s.text); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), lint, args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("actionlint %q: %v\n%s", args, err, out)
	}
}

var pin = regexp.MustCompile(`uses: (actions/[\w./-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)`)

// TestPinsAreTheSameEverywhere: the updates of dependabot reach .github/workflows
// alone. -update takes their versions over into examples and pages.
func TestPinsAreTheSameEverywhere(t *testing.T) {
	pins := map[string]string{}
	for _, name := range glob(t, ".github/workflows/*.yml") {
		for _, m := range pin.FindAllStringSubmatch(read(t, name), -1) {
			if pins[m[1]] == "" {
				pins[m[1]] = m[2]
			}
			if pins[m[1]] != m[2] {
				t.Errorf("%s uses %s@%s: want @%s as elsewhere", name, m[1], m[2], pins[m[1]])
			}
		}
	}
	for _, name := range glob(t, shown...) {
		old := read(t, name)
		now := pin.ReplaceAllStringFunc(old, func(use string) string {
			m := pin.FindStringSubmatch(use)
			if pins[m[1]] == "" || pins[m[1]] == m[2] {
				return use
			}
			if !*update {
				t.Errorf("%s uses %s@%s: want @%s as in .github/workflows (-update)", name, m[1], m[2], pins[m[1]])
			}
			return "uses: " + m[1] + "@" + pins[m[1]]
		})
		if *update && now != old {
			if err := os.WriteFile(filepath.Join(acttest.Root(t), filepath.FromSlash(name)), []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if pins["actions/checkout"] == "" {
		t.Errorf("pinned actions: got %q, want actions/checkout among them", pins)
	}
}

// TestVersionsOfTheContract: the versions that the schedule tries are those of the
// documented command.
func TestVersionsOfTheContract(t *testing.T) {
	t.Parallel()
	list := func(name, pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(read(t, name))
		if m == nil {
			t.Fatalf("%s: got no versions, want some at %q", name, pattern)
		}
		return strings.Join(strings.Fields(strings.NewReplacer(`"`, " ", ",", " ").Replace(m[1])), " ")
	}
	command := list(".ci/contract", `(?m)^\tversions=\((.*)\)$`)
	if schedule := list(".github/workflows/contract.yml", `(?m)^ +version: \[(.*)\]$`); schedule != command {
		t.Errorf("the schedule tries %s, .ci/contract %s", schedule, command)
	}
}
