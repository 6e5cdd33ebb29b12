package workflowtest

import (
	"slices"
	"strings"
	"testing"
)

const sha = "08c6903cd8c0fde910a37f88322edcfb5dd907a8"

// good breaks no rule. The bad examples are it with one thing changed.
const good = `name: n
on:
  push:
permissions:
  contents: read
concurrency:
  group: g
jobs:
  one:
    name: one
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions:
      contents: write # pushes a tag
      id-token: write # signs
    steps:
      - uses: actions/checkout@` + sha + ` # v5.0.0
        with:
          persist-credentials: false
      - uses: actions/setup-go@` + sha + ` # v6.0.0
        with:
          cache: false
      - uses: ./here
        if: ${{ github.ref == 'refs/heads/main' }}
        with:
          key: ${{ secrets.KEY }}
          title: ${{ github.event.issue.title }}
      - run: echo "$X" >>"$GITHUB_OUTPUT"
        if: github.event_name == 'push'
        env:
          X: ${{ inputs.x }}
`

func parse(t *testing.T, name string, kind Kind, text string) *File {
	t.Helper()
	f, err := Parse(name, kind, []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// edit is one change of the good file.
type edit struct{ old, new string }

// bad has changes for each rule, each of which breaks it.
var bad = map[string][]edit{
	"template-injection": {
		{`run: echo "$X"`, `run: echo "${{ inputs.x }}"`},
		{`run: echo "$X"`, "shell: ${{ inputs.x }}\n        run: echo"},
		{"- uses: ./here", "- uses: actions/github-script@" + sha + " # v8.0.0\n        with: {script: 'f(\"${{ inputs.x }}\")'}\n      - uses: ./here"},
		{`- run: echo "$X" >>"$GITHUB_OUTPUT"`, "- run: |\n          echo\n          echo ${{github.sha}}"},
	},
	"artipacked": {
		{"          persist-credentials: false\n", "          fetch-depth: 0\n"},
		{"persist-credentials: false", "persist-credentials: true"},
		{"        with:\n          persist-credentials: false\n", ""},
	},
	"excessive-permissions": {
		{"permissions:\n  contents: read\n", ""},
		{"permissions:\n  contents: read\n", "permissions: write-all\n"},
		{"permissions:\n  contents: read\n", "permissions: read-all\n"},
		{"permissions:\n  contents: read\n", "permissions:\n  contents: write # pushes\n"},
		{"    permissions:\n      contents: write # pushes a tag\n      id-token: write # signs\n", "    permissions: write-all\n"},
	},
	"undocumented-permissions": {{"contents: write # pushes a tag", "contents: write"}},
	"unpinned-uses": {
		{"checkout@" + sha, "checkout@v5"},
		{"checkout@" + sha, "checkout@" + sha[:39]},
		{"checkout@" + sha, "checkout@main"},
		{"uses: ./here", "uses: actions/cache"},
		{"uses: ./here", "uses: ./../elsewhere"},
		{"uses: ./here", "uses: raymond-action/raymond-action@v1"},
		{"uses: ./here", "uses: docker://alpine:3"},
	},
	"ref-version-mismatch": {
		{sha + " # v5.0.0", sha},
		{sha + " # v5.0.0", sha + " # v5"},
		{sha + " # v5.0.0", sha + " # main"},
	},
	"forbidden-uses": {
		{"uses: ./here", "uses: stranger/action@" + sha + " # v1.0.0"},
		{"uses: ./here", "uses: actionsx/checkout@" + sha + " # v1.0.0"},
	},
	"dangerous-triggers": {
		{"on:\n  push:\n", "on: pull_request_target\n"},
		{"on:\n  push:\n", "on: [push, workflow_run]\n"},
		{"  push:\n", "  pull_request_target:\n    types: [opened]\n"},
	},
	"overprovisioned-secrets": {
		{"${{ secrets.KEY }}", "${{ toJSON(secrets) }}"},
		{"${{ secrets.KEY }}", "${{ tojson( secrets ) }}"},
		{"${{ secrets.KEY }}", "${{ secrets[inputs.x] }}"},
		{"${{ secrets.KEY }}", "${{ secrets }}"},
	},
	"secrets-outside-steps": {
		{"jobs:\n", "env:\n  KEY: ${{ secrets.KEY }}\njobs:\n"},
		{"    steps:\n", "    env:\n      KEY: ${{ github.token }}\n    steps:\n"},
		{"        if: github.event_name", "        if: secrets.KEY && github.event_name"},
	},
	"concurrency-limits": {
		{"concurrency:\n  group: g\n", ""},
		{"concurrency:\n  group: g\n", "concurrency:\n  cancel-in-progress: true\n"},
	},
	"github-env": {
		{`>>"$GITHUB_OUTPUT"`, `>>"$GITHUB_ENV"`},
		{`>>"$GITHUB_OUTPUT"`, `>>${GITHUB_PATH}`},
	},
	"cache-poisoning": {
		{"cache: false", "cache: true"},
		{"        with:\n          cache: false\n", ""},
		{"- uses: ./here", "- uses: actions/setup-node@" + sha + " # v5.0.0\n      - uses: ./here"},
		{"- uses: ./here", "- uses: actions/cache/restore@" + sha + " # v5.0.0\n      - uses: ./here"},
	},
	"unpinned-tools": {
		{`echo "$X"`, "go install example.com/x@latest"},
		{`echo "$X"`, "npx something"},
		{`echo "$X"`, "npm install -g something"},
		{`echo "$X"`, "curl -sL https://example.com/install.sh | sudo bash"},
	},
	"no-timeout": {{"    timeout-minutes: 5\n", ""}},
}

// found returns the rules that a file breaks.
func found(f *File) []string {
	var names []string
	for _, finding := range Audit(f) {
		names = append(names, finding.Rule)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestCleanFileIsClean(t *testing.T) {
	if got := Audit(parse(t, "good", Ours, good)); len(got) > 0 {
		t.Errorf("findings in\n%s\ngot %v, want none", good, got)
	}
}

// TestEachRuleFindsWhatItIsFor: a rule that finds nothing would keep nothing out.
func TestEachRuleFindsWhatItIsFor(t *testing.T) {
	for _, r := range rules {
		if len(bad[r.name]) == 0 {
			t.Errorf("rule %s: got no bad example, want some", r.name)
		}
		for i, e := range bad[r.name] {
			if strings.Count(good, e.old) != 1 {
				t.Fatalf("%s, example %d: %q is there %d times", r.name, i, e.old, strings.Count(good, e.old))
			}
			text := strings.Replace(good, e.old, e.new, 1)
			if got := found(parse(t, "bad", Ours, text)); !slices.Contains(got, r.name) {
				t.Errorf("%s, example %d: got %q in\n%s", r.name, i, got, text)
			}
		}
	}
	if len(bad) != len(rules) {
		t.Errorf("rules with bad examples: got %d, want those of the %d rules", len(bad), len(rules))
	}
}

// TestShownFilesMayUseTheMajorVersion of this action, and need no names of jobs.
func TestShownFilesMayUseTheMajorVersion(t *testing.T) {
	text := strings.NewReplacer("./here", "raymond-action/raymond-action@v1", "    name: one\n", "").Replace(good)
	if got := Audit(parse(t, "shown", Shown, text)); len(got) > 0 {
		t.Errorf("findings in\n%s\ngot %v, want none", text, got)
	}
	branch := strings.Replace(text, "raymond-action@v1", "raymond-action@main", 1)
	if got := found(parse(t, "shown", Shown, branch)); !slices.Equal(got, []string{"unpinned-uses"}) {
		t.Errorf("findings in\n%s\ngot %q, want unpinned-uses", branch, got)
	}
}

// TestOneJobMayHaveTheRightsOfTheFile where others copy it; a second one would get them, too.
func TestOneJobMayHaveTheRightsOfTheFile(t *testing.T) {
	one := strings.Replace(good, "permissions:\n  contents: read\n", "permissions:\n  issues: write # comments\n", 1)
	if got := Audit(parse(t, "one", Shown, one)); len(got) > 0 {
		t.Errorf("findings in\n%s\ngot %v, want none", one, got)
	}
	two := one + "  two:\n    runs-on: ubuntu-24.04\n    timeout-minutes: 5\n    steps: []\n"
	if got := found(parse(t, "two", Shown, two)); !slices.Equal(got, []string{"excessive-permissions"}) {
		t.Errorf("findings in\n%s\ngot %q, want excessive-permissions", two, got)
	}
}

// TestPartsOfWorkflowsAreLookedAt: pages show single steps, too.
func TestPartsOfWorkflowsAreLookedAt(t *testing.T) {
	text := "- uses: actions/checkout@v5\n- run: echo ${{ github.event.issue.title }}\n"
	want := []string{"artipacked", "template-injection", "unpinned-uses"}
	if got := found(parse(t, "part", Shown, text)); !slices.Equal(got, want) {
		t.Errorf("findings in\n%s\ngot %q, want %q", text, got, want)
	}
}
