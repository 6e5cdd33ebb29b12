//go:build linux

package examplestest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

// debuggingPage is docs/debugging.md, and the repository that it has written down.
func debuggingPage(t *testing.T) (page, files string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(acttest.Root(t), "docs", "debugging.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```[a-z]+ file=(\\S+)\n(.*?)^```$").FindAllSubmatch(data, -1) {
		files += "-- " + string(m[1]) + " --\n" + string(m[2])
	}
	return string(data), files
}

// TestTheDebuggingGuideInAJob: a run that one job has failed is right in the next one, with
// the sentence that the page changes, and without asking again what went well.
func TestTheDebuggingGuideInAJob(t *testing.T) {
	t.Parallel()
	page, files := debuggingPage(t)
	api := claudetest.NewNotesServer(t)
	s := New(t, Setup{Example: "quickstart", Files: files})
	s.Workflow = ".github/workflows/notes.yml"
	s.Env["GITHUB_WORKFLOW_REF"] = Repository + "/" + s.Workflow + "@refs/heads/main"
	s.UseCLI(api)
	first := WantStep(t, s.Run("workflow_dispatch", jobsDispatch(t, "notes", map[string]string{"resume": "auto"})), "notes", "1", "failure", "status", "failed", "iterations", "2")

	change := regexp.MustCompile(`(?m)^\$ sed -i 's/\^([^/]+)/([^/]+)/' (\S+)$`).FindStringSubmatch(page)
	if change == nil {
		t.Fatal("docs/debugging.md: got no command that changes a sentence, want one")
	}
	path := filepath.Join(s.Repo, change[3])
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	acttest.Commit(t, s.Repo, "-- "+change[3]+" --\n"+strings.Replace(string(text), change[1], change[2], 1))
	asked := len(api.Requests())
	again := WantStep(t, s.Run("workflow_dispatch", jobsDispatch(t, "notes", map[string]string{"resume": first.Outputs["workflow-id"] + "@2"})),
		"notes", "1", "success", "status", "completed", "iterations", "2", "result", "Exports are faster.")
	if id := again.Outputs["workflow-id"]; id == first.Outputs["workflow-id"] {
		t.Errorf("workflow id: got %s again, want that of a new run", id)
	}
	jobsWantSummary(t, again, "Completed", "inherited", "Exports are faster.")
	for _, r := range api.Requests()[asked:] {
		if r.Prompt == "" || strings.Contains(r.Prompt, "Decide which") {
			t.Errorf("the second job asked\n%s\nwant nothing that the first one has done well", r.Conversation())
		}
	}
	if talk := api.Last(t).Conversation(); !strings.Contains(talk, "Users notice #12.") || strings.Contains(talk, "Do not mention") {
		t.Errorf("in the second job the model saw\n%s\nwant what was said before the failed state, and nothing of that", talk)
	}
}
