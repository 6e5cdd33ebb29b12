//go:build linux

package runnertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// wrongSentence is a workflow whose last prompt has a sentence that is wrong.
const wrongSentence = `-- .github/workflows/w.yml --
on: workflow_dispatch
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: flow
        uses: acme/raymond-action@v1
        with: {workflow: flow, key: k, env: SIDE_EFFECTS, resume: "${{ github.event.inputs.resume || 'auto' }}"}
-- flow/START.md --
log: start
reply:
<goto>END.md</goto>
end.
-- flow/END.md --
log: wrong
reply:
<result>wrong</result>
end.
`

// TestAJobUnderActRunsAgainFromAState of a run that a job before it has completed, with the
// prompts of now.
func TestAJobUnderActRunsAgainFromAState(t *testing.T) {
	t.Parallel()
	c := newConsumer(t, wrongSentence)
	first := wantStep(t, c.run(nil), "one", "flow", "success", map[string]string{"status": "completed", "result": "wrong"})
	acttest.Commit(t, c.Repo, strings.Replace(strings.ReplaceAll(wrongSentence, "wrong", "right"), "workflow: flow", `workflow: flow, cage-write: "`+c.Env["KEEP"]+`"`, 1))
	payload := strings.Replace(privatePayload, "{", `{"inputs":{"resume":"`+first.Outputs["workflow-id"]+`@END"},`, 1)
	again := wantStep(t, c.run(func(a *acttest.Config) { a.Payload = payload }), "one", "flow", "success", map[string]string{"status": "completed", "result": "right"})
	if again.Outputs["workflow-id"] == first.Outputs["workflow-id"] {
		t.Error("workflow id: got that of the first run, want a new one")
	}
	var states []string
	for _, line := range c.effects() {
		for _, name := range []string{"START.md", "END.md"} {
			if strings.Contains(line, `"state":"`+name+`"`) {
				states = append(states, name)
			}
		}
	}
	if want := []string{"START.md", "END.md", "END.md"}; !slices.Equal(states, want) {
		t.Errorf("prompts: got %q, want %q", states, want)
	}
}
