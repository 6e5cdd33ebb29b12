//go:build linux && world

package acttest_test

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// together is a workflow file with what only a runner can tell apart: the legs of a
// matrix, with the default key, and two uses inside a composite action, which has an
// input of its own.
const together = `-- .github/workflows/w.yml --
on:
  workflow_dispatch: {inputs: {most: {default: "1"}}}
jobs:
  legs:
    runs-on: ubuntu-latest
    strategy: {matrix: {who: [ann, bob]}}
    steps:
      - uses: actions/checkout@v4
      - id: raymond
        continue-on-error: true
        uses: acme/raymond-action@v1
        with: {workflow: wf, max-iterations: "${{ inputs.most }}"}
  pair:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: pair
        uses: ./pair
        with: {most: "${{ inputs.most }}"}
      - id: after
        env: {A: "${{ steps.pair.outputs.a }}", B: "${{ steps.pair.outputs.b }}"}
        run: printf 'a=%s\nb=%s\n' "$A" "$B" >>"$GITHUB_OUTPUT"
-- pair/action.yml --
name: pair
description: two uses of the action
inputs: {most: {description: how many states, required: true}}
outputs:
  a: {description: of the first, value: "${{ steps.first.outputs.workflow-id }} ${{ steps.first.outputs.status }}"}
  b: {description: of the second, value: "${{ steps.second.outputs.workflow-id }} ${{ steps.second.outputs.status }}"}
runs:
  using: composite
  steps:
    - id: first
      continue-on-error: true
      uses: acme/raymond-action@v1
      with: {workflow: wf, key: a, max-iterations: "${{ inputs.most }}"}
    - id: second
      continue-on-error: true
      uses: acme/raymond-action@v1
      with: {workflow: wf, key: b, max-iterations: "${{ inputs.most }}"}
-- wf/START.sh --
echo '<goto>END.sh</goto>'
-- wf/END.sh --
echo "<result>$RAYMOND_WORKFLOW_ID</result>"
`

// parts are the workflow ids, with their status, of all uses in a run of together.
func parts(t *testing.T, r *acttest.Result) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, s := range r.Steps {
		switch {
		case s.Stage != "Main":
		case s.ID == "raymond":
			who, _ := s.Matrix["who"].(string)
			got[s.Job+who] = s.Outputs["workflow-id"] + " " + s.Outputs["status"]
		case s.ID == "after":
			got["a"], got["b"] = s.Outputs["a"], s.Outputs["b"]
		}
	}
	return got
}

// TestNobodyResumesTheRunOfAnother under a runner: each use begins a run, and in the
// second attempt each resumes its own.
func TestNobodyResumesTheRunOfAnother(t *testing.T) {
	t.Parallel()
	c := newConsumer(t, together)
	first := c.start(nil).Wait()
	ids := map[string]string{}
	for name, part := range parts(t, first) {
		id, status, _ := strings.Cut(part, " ")
		if ids[id] != "" || id == "" || status != "over_iterations" {
			t.Errorf("%s: got %q, want a run of its own, over its limit\n%s", name, part, first)
		}
		ids[id] = name
	}
	if len(ids) != 4 {
		t.Fatalf("runs: got %q, want four\n%s", ids, first)
	}
	second := c.start(func(a *acttest.Config) {
		a.Payload = strings.Replace(privatePayload, "{", `{"inputs":{"most":"9"},`, 1)
	}).Wait()
	for name, part := range parts(t, second) {
		if id, status, _ := strings.Cut(part, " "); ids[id] != name || status != "completed" {
			t.Errorf("%s: got %q, want the run that it began, completed; runs: %q\n%s", name, part, ids, second)
		}
	}
}
