//go:build linux

package examplestest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// authoringFiles are the files of a workflow of docs/authoring.md as a repository has
// them: the states where the page copies them to, and the workflow file.
func authoringFiles(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(acttest.Root(t), "docs", "authoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	archive := ""
	for _, m := range regexp.MustCompile("(?ms)^```[a-z]+ file=(\\S+)\n(.*?)^```$").FindAllSubmatch(page, -1) {
		file, text := string(m[1]), string(m[2])
		switch {
		case file == ".github/workflows/"+name+".yml":
			archive += "-- " + file + " --\n" + text
		case strings.HasPrefix(file, name+"/"):
			archive += "-- .github/raymond/" + file + " --\n" + text
		}
	}
	return archive
}

// TestTheWorkflowFileOfTheAuthoringPageRuns with the states that the page begins
// with.
func TestTheWorkflowFileOfTheAuthoringPageRuns(t *testing.T) {
	t.Parallel()
	s := New(t, Setup{Example: "quickstart", Files: authoringFiles(t, "hello")})
	s.Workflow = ".github/workflows/hello.yml"
	s.Agents.Say("1_START.md", "I have looked around.\n<result>It adds numbers.</result>")
	r := s.Run("workflow_dispatch", jobsDispatch(t, "hello", nil))
	jobsWant(t, r, map[string]string{"hello": "success"})
	step := WantStep(t, r, "hello", "1", "success", "status", "completed", "result", "It adds numbers.", "cost-usd", "0.01")
	jobsWantSummary(t, step, "Completed", "of $1.00", "It adds numbers.")
}
