package ask_test

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

const threeJobs = `
jobs:
  one:
    steps:
      - uses: o/raymond-action@v1
        with: {workflow: wf, key: "k-${{ github.ref }}"}
  two:
    needs: NEEDS
    if: CONDITION
    steps:
      - run: true
      - uses: o/raymond-action@v2
        with: {workflow: wf, key: "KEY"}
  between:
    needs: one
`

// TestSuccessor checks that Successor returns a job that needs this job, starts after a step with this
// result, and uses the same key.
func TestSuccessor(t *testing.T) {
	example, err := os.ReadFile("../../../../examples/resume-across-jobs/workflow.yml")
	assert.NilError(t, err)
	green := ask.StepResult{Job: "begin", Key: "survey-main", Status: state.Suspended}
	assert.Check(t, is.Equal(ask.Successor(example, green), "go-on"), "the example")
	assert.Check(t, is.Equal(ask.Successor(example, ask.StepResult{Job: "go-on", Key: "survey-main", Status: state.Suspended}), ""), "the example's second job")
	same := "k-${{github.ref}}"
	for _, c := range []struct {
		needs, condition, key string
		status                state.Status
		want                  string
	}{
		{"one", "", same, state.Suspended, "two"},
		{"[between]", "x", same, state.Suspended, "two"},
		{"one", "", "other", state.Suspended, ""},
		{"one", "", same, state.Failed, ""},
		{"one", "always()", same, state.Cancelled, ""},
	} {
		file := strings.NewReplacer("NEEDS", c.needs, "CONDITION", c.condition, "KEY", c.key).Replace(threeJobs)
		assert.Check(t, is.Equal(ask.Successor([]byte(file), ask.StepResult{Job: "one", Key: "k-refs/heads/main", Status: c.status}), c.want), "%+v", c)
	}
	for _, file := range []string{"", "jobs: [", "jobs:\n  \"`x\":\n    needs: one\n"} {
		assert.Check(t, is.Equal(ask.Successor([]byte(file), green), ""), "%q", file)
	}
}

// TestSuccessorHasTheSameKey checks that Successor ignores jobs with another key, with an expression
// whose value differs in that job, and with the default key, which contains the job's name.
func TestSuccessorHasTheSameKey(t *testing.T) {
	const file = `
jobs:
  one:
    steps:
      - {id: a, uses: o/a@v1, with: {key: "KEY"}}
      - {id: b, uses: o/a@v1, with: {key: other}}
      - {id: c, uses: o/a@v1}
  two:
    needs: one
    steps:
      - {uses: o/a@v1, with: {TWO}}
`
	for _, c := range []struct{ key, given, two, want string }{
		{"k", "k", "key: other", ""},                              // job two continues the run of step b, which has another key
		{"${{ inputs.k }}", "k", "key: k", "two"},                 // the literal key equals the value of the expression
		{"${{ inputs.k }}", "k", `key: "${{ inputs.k }}"`, "two"}, // the expression has the same value in both jobs
		{"k-${{ github.job }}", "k-one", `key: "k-${{ github.job }}"`, ""},
		{"${{ matrix.x }}", "k", `key: "${{ matrix.x }}"`, ""},
		{"k", "", "workflow: wf", ""},
		{"k", "", "key: k", ""}, // the default key is only for its own job
		{"k", "k", "key: k, mode: lint", ""},
		{"k", "k", "key: k, resume: require", "two"},
	} {
		text := strings.NewReplacer("KEY", c.key, "TWO", c.two).Replace(file)
		e := ask.StepResult{Job: "one", Key: c.given, Status: state.Suspended}
		assert.Check(t, is.Equal(ask.Successor([]byte(text), e), c.want), "%+v", c)
	}
}

// TestSuccessorRunsTheJob checks that Successor returns a job that agents wait for, if they wait for jobs.
func TestSuccessorRunsTheJob(t *testing.T) {
	const file = `
jobs:
  one: {steps: [{uses: o/a@v1, with: {key: k}}]}
  publish: {needs: one, steps: [{uses: o/a@v1, with: {key: k, job: "publish, tag"}}]}
  rest: {needs: one, steps: [{uses: o/a@v1, with: {key: k}}]}
  some: {needs: one, steps: [{uses: o/a@v1, with: {key: k, job: "${{ inputs.job }}"}}]}
`
	wait := func(kind state.WaitFor, job string) report.Wait {
		return report.Wait{AgentWaits: state.AgentWaits{For: kind, Job: job}}
	}
	for _, c := range []struct {
		waits []report.Wait
		want  string
	}{
		{nil, "rest"},
		{[]report.Wait{wait(state.ForAgents, "")}, "rest"},
		{[]report.Wait{wait(state.ForTime, ""), wait(state.ForAgents, "")}, ""},
		{[]report.Wait{wait(state.ForAnswer, ""), wait(state.ForJob, "tag")}, "publish"},
		{[]report.Wait{wait(state.ForJob, "other")}, "some"},
	} {
		e := ask.StepResult{Job: "one", Key: "k", Status: state.Suspended, Waits: c.waits}
		assert.Check(t, is.Equal(ask.Successor([]byte(file), e), c.want), "%+v", c.waits)
	}
}
