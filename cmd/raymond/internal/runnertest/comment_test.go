//go:build linux

package runnertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestACommentUnderARunner has a real workflow file and event.
func TestACommentUnderARunner(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	c := newConsumer(t, "-- wf/START.sh --\necho '<result>all done</result>'\n-- "+workflowFile+` --
on:
  issues:
    types: [labeled]
permissions:
  contents: read
  actions: read
  issues: write
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: {persist-credentials: false}
      - id: raymond
        uses: `+actionName+`
        with: {workflow: wf, comment: sticky}
`)
	c.Event, c.Payload = "issues", fmt.Sprintf(`{"action":"labeled",%s,"issue":{"number":7,"title":"A bug"},"label":{"name":"agent"},%s}`,
		`"sender":{"login":"ann","type":"User"}`, `"repository":{"id":4711,"full_name":"o/r","private":true,"default_branch":"main"}`)
	c.Env["GITHUB_API_URL"], c.Env["GITHUB_GRAPHQL_URL"], c.Env["GITHUB_REPOSITORY"] = f.API.URL+"/api", f.API.URL+"/api/graphql", "o/r"
	c.Secrets = map[string]string{"GITHUB_TOKEN": "api-token"}
	r := c.run(nil)
	step := wantStep(t, r, "one", "raymond", "success", map[string]string{"status": "completed", "result": "all done"})
	id := wantComment(t, f, step.Outputs["workflow-id"], "all done", "actions/runs/1/attempts/1")
	again := c.run(func(config *acttest.Config) { config.RunID = 2 })
	wantStep(t, again, "one", "raymond", "success", map[string]string{"status": "completed"})
	if next := wantComment(t, f, "actions/runs/2/attempts/1"); next != id {
		t.Errorf("comment of the second event: got %d, want %d", next, id)
	}
}

// wantComment checks that issue 7 has one comment of the job's, and what it says of a
// completed run. It returns the comment's id.
func wantComment(t *testing.T, f *sitetest.Forge, parts ...string) int64 {
	t.Helper()
	ours := f.Talk.By(7, sitetest.JobsAccount)
	if len(ours) != 1 {
		t.Fatalf("comments: got %+v, want one", ours)
	}
	for _, part := range append(parts, "Completed") {
		if !strings.Contains(ours[0].Body, part) {
			t.Errorf("comment: got\n%s\nwant %q in it", ours[0].Body, part)
		}
	}
	return ours[0].ID
}
