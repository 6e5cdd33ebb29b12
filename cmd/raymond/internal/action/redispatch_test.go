//go:build linux

package action_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// endless works on for ever: each state takes a moment.
const endless = `-- wf/START.sh --
echo moved >>"$EFFECTS"; sleep 0.5; echo '<goto>START.sh</goto>'
`

// untilDeadline are the inputs of a step that its deadline suspends, and that continues by
// itself. That needs a state before the deadline, to which a busy machine takes seconds.
var untilDeadline = []string{"deadline", "10s", "continue", "redispatch"}

// dispatched is a job of the workflow run that a dispatch has started.
func (s *scene) dispatched(run int64, key string, inputs ...string) *bareJob {
	return s.job(run, append(inputs, "raymond-key", key)...).on("workflow_dispatch", "{"+inPrivate+"}")
}

// TestADeadlineStartsTheWorkflowAgain: once for each suspension, on the run's branch, as
// often in a row as it may; a resume by anything else begins the count anew.
func TestADeadlineStartsTheWorkflowAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t, endless)
	limits := append(untilDeadline, "max-continuations", "2")
	first := s.job(1, limits...).do(0)
	first.wantOutputs(t, "status", "suspended", "resumable", "true")
	one := sitetest.Dispatch{File: "agent.yml", Ref: "main", Inputs: map[string]string{"raymond-key": "agent-build.ref-main"}}
	if d := cmp.Diff([]sitetest.Dispatch{one}, s.forge.Dispatches()); d != "" {
		t.Fatalf("starts of the workflow (-want +got):\n%s", d)
	}
	if !strings.Contains(first.summary, "started again") || !strings.Contains(first.summary, "1 of 2") {
		t.Errorf("summary: got %q, want that the workflow was started again", first.summary)
	}
	for run, want := range []int{2, 2} {
		e := s.dispatched(int64(2+run), one.Inputs["raymond-key"], limits...).do(0)
		e.wantOutputs(t, "status", "suspended", "workflow-id", first.outputs["workflow-id"])
		if got := len(s.forge.Dispatches()); got != want {
			t.Errorf("starts of the workflow after %d continuations: got %d, want %d", run+1, got, want)
		}
	}
	all := s.forge.Checkpoints(t, nil)
	if p := all[len(all)-1].Run.Progress; p.Continuations != 2 || p.Continuing != state.TooOften {
		t.Errorf("progress: got %+v, want 2 continuations, and that this is often enough", p)
	}
	s.job(4, limits...).do(0).wantOutputs(t, "workflow-id", first.outputs["workflow-id"])
	if got := len(s.forge.Dispatches()); got != 3 {
		t.Errorf("starts of the workflow after somebody else has resumed the run: got %d, want 3", got)
	}
}

// TestNothingIsStartedAgainInVain: not without being asked to, and not where the run has
// another end than by its deadline.
func TestNothingIsStartedAgainInVain(t *testing.T) {
	t.Parallel()
	s := newScene(t, endless+"-- over/START.sh --\necho '<result>x</result>'\n")
	s.job(2, "deadline", "500ms", "key", "m").do(0).wantOutputs(t, "status", "suspended")
	s.job(3, append(untilDeadline, "deadline", "5m", "workflow", "over", "key", "o")...).do(0)
	s.job(4, append(untilDeadline, "deadline", "5m", "key", "i", "max-iterations", "2")...).do(problem.ExitCodes[problem.ClassOverLimit])
	if got := s.forge.Dispatches(); len(got) > 0 {
		t.Errorf("starts of the workflow: got %+v, want none", got)
	}
}

// TestAForgeThatRefusesToStartTheWorkflow is asked once, and told of once, with what
// would help. The run stays suspended, and the next step resumes it.
func TestAForgeThatRefusesToStartTheWorkflow(t *testing.T) {
	t.Parallel()
	for status, hint := range map[int]string{
		http.StatusForbidden: "actions: write", http.StatusNotFound: "default branch", http.StatusUnprocessableEntity: "workflow_dispatch",
		http.StatusBadGateway: "all the same",
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, endless)
			s.forge.OnDispatch = func(sitetest.Dispatch) int { return status }
			j := s.job(1, untilDeadline...)
			e := j.do(0)
			e.wantOutputs(t, "status", "suspended", "resumable", "true")
			e.wantSays(t, "warning", "could not be started again", fmt.Sprint(status), hint)
			if n := len(e.texts("warning")); n != 1 {
				t.Errorf("got the warnings %q, want one", e.texts("warning"))
			}
			j.end(j.command("action-post"))
			if n := len(s.forge.Dispatches()); n != 1 {
				t.Errorf("got %d requests, want one", n)
			}
			s.job(2, "deadline", "500ms").do(0).wantOutputs(t, "workflow-id", e.outputs["workflow-id"])
		})
	}
}

// TestAKillBetweenSuspensionAndDispatch: the post part starts the workflow if the main part
// had not begun to do so; if it had, nobody does.
func TestAKillBetweenSuspensionAndDispatch(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(*scene, func()){
		"before": func(s *scene, kill func()) {
			watch := s.forge.Watch
			s.forge.Watch = func(list []artifactstest.Stored) {
				watch(list)
				isClaimed := slices.ContainsFunc(list, func(a artifactstest.Stored) bool { return strings.HasSuffix(a.Name, "-claim") })
				if len(list) > 0 && !isClaimed { // the claim was given up, which comes first
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
			s := newScene(t, endless)
			var c atomic.Pointer[sitetest.Command]
			at(s, func() {
				if main := c.Swap(nil); main != nil {
					main.Kill()
				}
			})
			j := s.job(1, untilDeadline...)
			main := j.start()
			c.Store(main)
			if o := main.Wait(); o.Code != -1 {
				t.Fatalf("got %v, want the main part killed", o)
			}
			j.end(j.command("action-post"))
			if got := s.forge.Dispatches(); len(got) != 1 || got[0].Ref != "main" {
				t.Errorf("got the starts %+v, want one", got)
			}
			j.end(j.command("action-post"))
			if n := len(s.forge.Dispatches()); n != 1 {
				t.Errorf("a second post part: got %d starts, want one", n)
			}
			s.dispatched(2, "agent-build.ref-main", "deadline", "500ms").do(0).wantOutputs(t, "status", "suspended")
		})
	}
}

// TestADispatchContinuesItsRunOrDoesNothing: whatever its input says, nothing begins, and
// nothing is stored under it.
func TestADispatchContinuesItsRunOrDoesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, endless+"-- over/START.sh --\necho over >>\"$EFFECTS\"; echo '<result>x</result>'\n")
	first := s.job(1, "deadline", "500ms").do(0)
	s.job(2, "workflow", "over", "key", "done").do(0)
	before, done := len(s.forge.All()), s.done()
	for _, c := range []struct{ key, says string }{
		{"nobody's", "no run of the key"}, {"../../x", "no run of the key"}, {"done", "continued by job build"}, {strings.Repeat("k", 200), "no run of the key"},
	} {
		j := s.dispatched(3, c.key)
		if c.key == "done" {
			j.set("GITHUB_JOB", "other")
		}
		e := j.do(0)
		e.wantOutputs(t, "status", "skipped", "error-class", "")
		e.wantSays(t, "notice", "nothing is started", c.says)
		j.end(j.command("action-post"))
	}
	s.dispatched(4, "done").do(0).wantOutputs(t, "status", "skipped") // which is completed
	other := s.dispatched(5, "agent-build.ref-main").set("GITHUB_JOB", "other")
	other.do(0).wantSays(t, "notice", "nothing is started", "job build")
	if len(s.forge.All()) != before || s.done() != done {
		t.Errorf("after dispatches that continue nothing: got %d artifacts and %q, want %d and %q", len(s.forge.All()), s.done(), before, done)
	}
	// On another event the input means nothing: its text might be a stranger's.
	e := s.job(6, "raymond-key", "agent-build.ref-main", "deadline", "500ms").on("issue_comment", event(person("ann"), `"issue":{"number":7}`)).do(0)
	if e.outputs["workflow-id"] == first.outputs["workflow-id"] {
		t.Errorf("a comment with the input: got the run %v continued", e.outputs)
	}
	// What a runner does not put into the input is in the payload.
	j := s.job(7, "deadline", "500ms").on("workflow_dispatch", "{"+inPrivate+`,"inputs":{"raymond-key":"agent-build.ref-main"}}`)
	j.do(0).wantOutputs(t, "workflow-id", first.outputs["workflow-id"])
}

// TestAContinuedRunIsAboutTheSameIssue: its comment is the one that it has, and later
// checkpoints say so too.
func TestAContinuedRunIsAboutTheSameIssue(t *testing.T) {
	t.Parallel()
	s := newScene(t, endless)
	issue := "{" + inPrivate + `,"action":"labeled","sender":{"login":"ann","type":"User"},"issue":{"number":7,"title":"A title"}}`
	s.job(1, append(untilDeadline, "comment", "sticky")...).on("issues", issue).do(0)
	key := s.forge.Dispatches()[0].Inputs["raymond-key"]
	j := s.dispatched(2, key, "comment", "sticky", "deadline", "500ms")
	j.do(0).wantOutputs(t, "status", "suspended")
	if got := s.forge.Talk.By(7, sitetest.JobsAccount); len(got) != 1 || got[0].Edits == 0 {
		t.Errorf("comments on the issue: got %+v, want one, edited", got)
	}
	all := s.forge.Checkpoints(t, nil)
	if m := all[len(all)-1].Manifest; m.Event != "workflow_dispatch" || m.Number != 7 || m.Kind != "issue" || m.Title != "A title" {
		t.Errorf("manifest: got %+v, want the issue that the run is about", m)
	}
}

// TestACheckoutThatIsNotTrustedStaysSo, whatever event continues the run: a dispatch runs
// on the default branch, but the work that comes back is a stranger's.
func TestACheckoutThatIsNotTrustedStaysSo(t *testing.T) {
	t.Parallel()
	for _, trust := range []string{"", "true"} {
		t.Run(fmt.Sprintf("trust-checkout %q", trust), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, strings.ReplaceAll(agentAtWork, "echo work", "sleep 10; echo work"))
			comment := "{" + inPrivate + `,"action":"created","sender":{"login":"eve","type":"User"},"issue":{"number":8},"comment":{"id":5,"body":"go"}}`
			first := s.job(1, append(untilDeadline, "allow-actors", "eve")...).on("issue_comment", comment)
			first.with("claude-path", first.stub, "anthropic-api-key", "k").do(0)
			dispatch := s.forge.Dispatches()
			if len(dispatch) != 1 {
				t.Fatalf("starts of the workflow: got %+v, want one", dispatch)
			}
			inputs := []string{}
			if trust != "" {
				inputs = append(inputs, "trust-checkout", trust)
			}
			second := s.dispatched(2, dispatch[0].Inputs["raymond-key"], inputs...)
			second.with("claude-path", second.stub, "anthropic-api-key", "k").do(0).wantOutputs(t, "status", "completed")
			all := s.forge.Checkpoints(t, nil)
			if m := all[len(all)-1].Manifest; m.Untrusted == (trust == "true") {
				t.Errorf("got a checkout that is untrusted: %v", m.Untrusted)
			}
		})
	}
}

// TestAPullRequestContinuesOnTheDefaultBranch, where its own checkpoints count only if they
// are sealed.
func TestAPullRequestContinuesOnTheDefaultBranch(t *testing.T) {
	t.Parallel()
	pull := "{" + inPrivate + `,"sender":{"login":"ann","type":"User"},"pull_request":{"number":9,"head":{"ref":"fix","repo":{"id":4711}},"base":{"repo":{"id":4711}}}}`
	for _, key := range []string{"", sitetest.NewStateKey(t)} {
		s := newScene(t, endless)
		j := s.job(1, append(untilDeadline, "state-key", key)...).on("pull_request", pull).
			set("GITHUB_HEAD_REF", "fix", "GITHUB_REF", "refs/pull/9/merge", "GITHUB_REF_NAME", "9/merge")
		s.forge.Runs[1] = artifactstest.Run{
			ID: 1, Event: "pull_request", Status: "in_progress", Path: ".github/workflows/agent.yml", HeadBranch: "fix", HeadRepository: artifactstest.Repository,
		}
		e := j.do(0)
		got := s.forge.Dispatches()
		if key == "" {
			e.wantSays(t, "warning", "could not be started again", "state-key")
			if len(got) > 0 {
				t.Errorf("without a state-key: got %+v, want no start", got)
			}
			continue
		}
		if len(got) != 1 || got[0].Ref != "main" {
			t.Fatalf("with a state-key: got %+v, want one start on main", got)
		}
		s.forge.Keys, _ = checkpoint.ParseKeys(key)
		next := s.dispatched(2, got[0].Inputs["raymond-key"], "state-key", key, "deadline", "500ms").do(0)
		next.wantOutputs(t, "status", "suspended", "workflow-id", e.outputs["workflow-id"])
	}
}

// TestADeadlineCountsFromTheStartOfTheJob, where the API tells it.
func TestADeadlineCountsFromTheStartOfTheJob(t *testing.T) {
	t.Parallel()
	const name = "runner 3"
	for _, c := range []struct {
		job  artifactstest.Job
		ends bool
	}{
		{artifactstest.Job{Name: "build", Runner: name, Attempt: 1, Status: "in_progress", Started: hourAgo()}, true},
		{artifactstest.Job{Name: "build", Runner: "another", Attempt: 1, Status: "in_progress", Started: hourAgo()}, false},
		{artifactstest.Job{Name: "build", Runner: name, Attempt: 1, Status: "completed", Started: hourAgo()}, false},
		{artifactstest.Job{Name: "build", Runner: name, Attempt: 2, Status: "in_progress", Started: hourAgo()}, false},
		{artifactstest.Job{Name: "build", Runner: name, Attempt: 1, Status: "in_progress", Started: "yesterday"}, false},
	} {
		s := newScene(t, threeScripts)
		s.forge.Jobs = map[int64][]artifactstest.Job{1: {c.job}}
		status := map[bool]string{true: "suspended", false: "completed"}[c.ends]
		s.job(1, "deadline", "30m").set("RUNNER_NAME", name).do(0).wantOutputs(t, "status", status)
	}
}

func hourAgo() string { return time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) }
