//go:build linux

package action_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// endless is a workflow without an end. Its second state ends after the deadline.
const endless = `-- wf/START.sh --
echo moved >>"$EFFECTS"; echo '<goto>LATE.sh</goto>'
-- wf/LATE.sh --
late; echo '<goto>START.sh</goto>'
`

// untilDeadline has the inputs of a step that is suspended at its deadline and starts the workflow
// again.
var untilDeadline = []string{"deadline", "10h", "continue", "redispatch"}

// dispatched returns a job of a workflow run that a dispatch has started.
func (s *scene) dispatched(run int64, key string, inputs ...string) *bareJob {
	return s.job(run, append(inputs, "raymond-key", key)...).on("workflow_dispatch", "{"+inPrivate+"}")
}

// TestDeadlineStartsTheWorkflowAgain checks that the deadline starts the workflow again: once for
// each suspension, and on the run's branch. It counts the starts in a row: a resume in another way
// resets the count. The continued run is still about the same issue.
func TestDeadlineStartsTheWorkflowAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t, endless)
	inputs := append(untilDeadline, "comment", "sticky")
	issue := "{" + inPrivate + `,"action":"labeled","sender":{"login":"ann","type":"User"},"issue":{"number":7,"title":"A title"}}`
	first := s.job(1, inputs...).on("issues", issue).do(0)
	first.WantOutputs(t, "status", "suspended", "resumable", "true")
	one := sitetest.Dispatch{File: "agent.yml", Ref: "main", Inputs: map[string]string{"raymond-key": "agent-build.issue-7"}}
	assert.Assert(t, is.DeepEqual(s.forge.Dispatches(), []sitetest.Dispatch{one}), "starts of the workflow")
	assert.Check(t, is.Contains(first.Summary, "started again"), "summary")
	assert.Check(t, is.Contains(first.Summary, "1 of 10"), "summary")
	second := s.dispatched(2, one.Inputs["raymond-key"], inputs...).do(0)
	second.WantOutputs(t, "status", "suspended", "workflow-id", first.Outputs["workflow-id"])
	assert.Check(t, is.Contains(second.Summary, "2 of 10"), "summary")
	if got := s.forge.Comments.By(7, sitetest.JobsAccount); len(got) != 1 || got[0].Edits == 0 {
		t.Errorf("comments on the issue: got %+v, want one, edited", got)
	}
	if m := s.newest("agent-build.issue-7").Manifest; m.Event != "workflow_dispatch" || m.Number != 7 || m.Kind != "issue" || m.Title != "A title" {
		t.Errorf("manifest: got %+v, want the issue that the run is about", m)
	}
	third := s.job(3, inputs...).on("issues", issue).do(0)
	third.WantOutputs(t, "workflow-id", first.Outputs["workflow-id"])
	assert.Check(t, is.Contains(third.Summary, "1 of 10"), "summary after another event has resumed the run")
	assert.Check(t, is.Len(s.forge.Dispatches(), 3))
}

// TestRefusedDispatchIsAWarning checks that a refused dispatch causes one request and one warning
// with the permission that would help.
func TestRefusedDispatchIsAWarning(t *testing.T) {
	t.Parallel()
	s := newScene(t, endless)
	s.forge.OnDispatch = func(sitetest.Dispatch) int { return http.StatusForbidden }
	j := s.job(1, untilDeadline...)
	e := j.do(0)
	e.WantOutputs(t, "status", "suspended", "resumable", "true")
	e.WantAnnotation(t, "warning", "could not be started again", "403", "actions: write")
	j.post()
	assert.Check(t, is.Len(e.Annotations("warning"), 1))
	assert.Check(t, is.Len(s.forge.Dispatches(), 1))
}

// TestKillBetweenSuspensionAndDispatch checks that the post phase starts the workflow only if the
// killed main phase had not begun to do so.
func TestKillBetweenSuspensionAndDispatch(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(*scene, func()){
		"before": func(s *scene, kill func()) {
			watch := s.forge.OnChange
			s.forge.OnChange = func(list []artifactstest.Artifact) {
				watch(list)
				isClaimed := slices.ContainsFunc(list, func(a artifactstest.Artifact) bool { return strings.HasSuffix(a.Name, "-claim") })
				if len(list) > 0 && !isClaimed { // the claim is released before the dispatch
					kill()
				}
			}
		},
		"in the request": func(s *scene, kill func()) {
			s.forge.OnDispatch = func(sitetest.Dispatch) int { kill(); return http.StatusNoContent }
		},
	} {
		t.Run("killed "+name, func(t *testing.T) {
			t.Parallel()
			s := newForgeScene(t, endless)
			var c atomic.Pointer[running]
			at(s, func() {
				if main := c.Swap(nil); main != nil {
					main.Kill()
				}
			})
			j := s.job(1, untilDeadline...)
			main := j.start()
			c.Store(main)
			main.Wait()
			j.end(j.command("action-post"))
			if got := s.forge.Dispatches(); len(got) != 1 || got[0].Ref != "main" {
				t.Errorf("got the starts %+v, want one", got)
			}
			s.dispatched(2, "agent-build.ref-main", "deadline", "10h").do(0).WantOutputs(t, "status", "suspended")
		})
	}
}

// TestDispatchBeginsNoRun checks that a dispatch begins no new run, whatever its input, and stores
// nothing under that key.
func TestDispatchBeginsNoRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, endless+"-- over/START.sh --\necho over >>\"$EFFECTS\"; echo '<result>x</result>'\n")
	first := s.job(1, "deadline", "10h").do(0)
	s.job(2, "workflow", "over", "key", "done").do(0)
	before, done := s.newest("agent-build.ref-main").Digest, s.done()
	for _, c := range []struct{ key, says string }{
		{"nobody's", "no run of the key"}, {"../../x", "no run of the key"}, {"done", "continued by job build"}, {strings.Repeat("k", 200), "no run of the key"},
	} {
		j := s.dispatched(3, c.key)
		if c.key == "done" {
			j.set("GITHUB_JOB", "other")
		}
		e := j.do(0)
		e.WantOutputs(t, "status", "skipped", "error-class", "")
		e.WantAnnotation(t, "notice", "nothing is started", c.says)
		j.end(j.command("action-post"))
	}
	s.dispatched(4, "done").do(0).WantOutputs(t, "status", "skipped") // a completed run
	other := s.dispatched(5, "agent-build.ref-main").set("GITHUB_JOB", "other")
	other.do(0).WantAnnotation(t, "notice", "nothing is started", "job build")
	assert.Check(t, is.Equal(s.newest("agent-build.ref-main").Digest, before), "after dispatches that continue nothing")
	assert.Check(t, is.Equal(s.done(), done), "after dispatches that continue nothing")
	// On other events the input is ignored, because its text might be a stranger's.
	e := s.job(6, "raymond-key", "agent-build.ref-main", "deadline", "10h").on("issue_comment", event(person("ann"), `"issue":{"number":7}`)).do(0)
	assert.Check(t, e.Outputs["workflow-id"] != first.Outputs["workflow-id"], "a comment with the input: got the run %v continued", e.Outputs)
	// Some runners don't set the input, but the payload contains it.
	j := s.job(7, "deadline", "10h").on("workflow_dispatch", "{"+inPrivate+`,"inputs":{"raymond-key":"agent-build.ref-main"}}`)
	j.do(0).WantOutputs(t, "workflow-id", first.Outputs["workflow-id"])
}

// TestUntrustedCheckoutStaysUntrusted checks that an untrusted checkout stays untrusted whatever
// event continues the run: a dispatch runs on the default branch, but restores the work of a
// stranger.
func TestUntrustedCheckoutStaysUntrusted(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, strings.ReplaceAll(agentAtWork, "echo work", "late; echo work"))
	comment := "{" + inPrivate + `,"action":"created","sender":{"login":"eve","type":"User"},"issue":{"number":8},"comment":{"id":5,"body":"go"}}`
	s.job(1, append(untilDeadline, "allow-actors", "eve")...).on("issue_comment", comment).with("anthropic-api-key", "k").do(0)
	dispatch := s.forge.Dispatches()
	assert.Equal(t, len(dispatch), 1, "starts of the workflow: got %+v, want one", dispatch)
	s.dispatched(2, dispatch[0].Inputs["raymond-key"]).with("anthropic-api-key", "k").do(0).WantOutputs(t, "status", "completed")
	assert.Check(t, s.newest("agent-build.issue-8").Manifest.Untrusted, "got a checkout that is trusted")
}

// TestPullRequestContinuesOnTheDefaultBranch checks that the run of a pull request continues on the
// default branch if its checkpoints are sealed, because others are not accepted there.
func TestPullRequestContinuesOnTheDefaultBranch(t *testing.T) {
	t.Parallel()
	pull := "{" + inPrivate + `,"sender":{"login":"ann","type":"User"},"pull_request":{"number":9,"head":{"ref":"fix","repo":{"id":4711}},"base":{"repo":{"id":4711}}}}`
	for _, key := range []string{"", sitetest.NewStateKey(t)} {
		s := newForgeScene(t, endless)
		j := s.job(1, append(untilDeadline, "state-key", key)...).on("pull_request", pull).
			set("GITHUB_HEAD_REF", "fix", "GITHUB_REF", "refs/pull/9/merge", "GITHUB_REF_NAME", "9/merge")
		s.forge.Runs[1] = artifactstest.Run{
			ID: 1, Event: "pull_request", Status: "in_progress", Path: ".github/workflows/agent.yml", HeadBranch: "fix", HeadRepository: artifactstest.Repository,
		}
		e := j.do(0)
		got := s.forge.Dispatches()
		if key == "" {
			e.WantAnnotation(t, "warning", "could not be started again", "state-key")
			assert.Check(t, is.Len(got, 0), "without a state-key")
			continue
		}
		assert.Assert(t, is.Len(got, 1), "with a state-key")
		assert.Equal(t, got[0].Ref, "main", "with a state-key")
		s.forge.Keys, _ = checkpoint.ParseKeys(key)
		next := s.dispatched(2, got[0].Inputs["raymond-key"], "state-key", key, "deadline", "10h").do(0)
		next.WantOutputs(t, "status", "suspended", "workflow-id", e.Outputs["workflow-id"])
	}
}

// TestDeadlineCountsFromTheJobsStart checks that a deadline counts from the start of the job if the
// API returns it.
func TestDeadlineCountsFromTheJobsStart(t *testing.T) {
	t.Parallel()
	const name = "runner 3"
	anHourAgo := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for _, c := range []struct {
		job  artifactstest.Job
		ends bool
	}{
		{artifactstest.Job{Name: "build", Runner: name, Attempt: 1, Status: "in_progress", Started: anHourAgo}, true},
		{artifactstest.Job{Name: "build", Runner: "another", Attempt: 1, Status: "in_progress", Started: anHourAgo}, false},
	} {
		s := newScene(t, threeScripts)
		s.forge.Jobs = map[int64][]artifactstest.Job{1: {c.job}}
		status := map[bool]string{true: "suspended", false: "completed"}[c.ends]
		s.job(1, "deadline", "30m").set("RUNNER_NAME", name).do(0).WantOutputs(t, "status", status)
	}
}
