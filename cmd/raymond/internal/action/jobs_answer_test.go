//go:build linux

package action_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// asksOnThePull is a workflow whose job publish asks a question on pull request 34, and runs again
// after the answer.
const asksOnThePull = `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<goto>PUBLISH</goto>'
-- wf/PUBLISH.sh --
# raymond: job=publish ask=where,from,untrusted
echo published >>"$EFFECTS"; echo '<ask next="FOLLOW" where="34" from="author" untrusted="true">What should be different?</ask>'
-- wf/FOLLOW.sh --
echo "$RAYMOND_RESULT" >>"$EFFECTS"; echo '<goto>AGAIN</goto>'
-- wf/AGAIN.sh --
# raymond: job=publish
echo again >>"$EFFECTS"; echo '<result>done</result>'
`

// ofKey returns a job of the workflow file whose key contains the number of its event.
func (s *scene) ofKey(run int64, number int, name string, inputs ...string) *bareJob {
	s.t.Helper()
	inputs = append([]string{"key", fmt.Sprintf("k.issue-%d", number)}, inputs...)
	if name == "publish" {
		inputs = append(inputs, "job", name, "resume", "require", "prompts", "false")
	}
	return s.other(run, name, "job", "", "prompts", "", "resume", "").with(inputs...).
		on("issues", event(person("ann"), `"action":"labeled"`, fmt.Sprintf(`"issue":{"number":%d}`, number)))
}

// TestAnswerOnPullRequestContinuesEachJob checks that a run with the key of issue 12 continues from
// its pull request 34, in each of its jobs, although their own keys contain 34. A third job that
// the comment starts begins nothing. A stranger may answer, because the question allows it.
func TestAnswerOnPullRequestContinuesEachJob(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, asksOnThePull)
	s.forge.Comments.Authors[34] = "eve"
	first := s.ofKey(1, 12, "work").do(0)
	s.ofKey(1, 12, "publish").do(0).WantOutputs(t, "status", "suspended", "next-jobs", "[]")
	s.wantDone("start published")
	said := s.forge.Comments.AddComment(sitetest.Comment{Number: 34, Author: "eve", Body: "/raymond blue"})
	heard := func(j *bareJob) *bareJob {
		return j.on("issue_comment", event(person("eve"), `"action":"created"`, `"issue":{"number":34,"pull_request":{}}`,
			fmt.Sprintf(`"comment":{"id":%d,"body":%q,"user":{"login":"eve","type":"User"}}`, said.ID, said.Body)))
	}
	s.forge.Heads[34] = 4711
	triage := heard(s.ofKey(2, 34, "triage")).do(0)
	triage.WantOutputs(t, append(nobodyWaits, "status", "skipped", "workflow-id", "")...)
	assert.Check(t, is.Contains(triage.Stdout, "nothing is started: the run with the key k.issue-12 is continued by job work"), "the other job: got %v, want a line that says whose run it is", triage)
	work := heard(s.ofKey(2, 34, "work")).do(0)
	work.WantOutputs(t, "status", "suspended", "next-jobs", `["publish"]`, "workflow-id", first.Outputs["workflow-id"])
	s.wantDone("start published blue")
	heard(s.ofKey(3, 34, "publish")).do(0).WantOutputs(t, "status", "skipped") // the run was handed over in another workflow run
	s.wantDone("start published blue")
	heard(s.ofKey(2, 34, "publish")).do(0).WantOutputs(t, append(nobodyWaits, "status", "completed", "workflow-id", first.Outputs["workflow-id"])...)
	s.wantDone("start published blue again")
	assert.Check(t, s.newest().Manifest.Untrusted, "the checkout counts as trusted, though a stranger was asked")
	heard(s.ofKey(4, 34, "work")).do(0).WantOutputs(t, "status", "skipped")
	s.forge.Comments.AddComment(sitetest.Comment{Number: 12, Author: "eve", Body: "/raymond red"})
	s.ofKey(5, 12, "work").on("issue_comment", event(person("eve"), `"action":"created"`, `"issue":{"number":12}`,
		`"comment":{"id":999,"body":"/raymond red","user":{"login":"eve","type":"User"}}`)).do(0).WantOutputs(t, "status", "skipped")
}
