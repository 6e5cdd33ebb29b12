package slots_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

const id = key + "-00000001"

// decision returns a Decision as one word.
func decision(v slots.Decision) string {
	switch v.Action {
	case slots.Resume:
		return "resume"
	case slots.Restore:
		return "restore"
	case slots.Skip:
		return "skip"
	case slots.NewRun:
		if v.Supersedes {
			return "supersede"
		}
		if v.Warn {
			return "new, warned"
		}
		return "new"
	}
	return v.Class
}

// foundRun is a run that was found, and the decisions about it in mode auto, in mode require and by
// its id.
type foundRun struct {
	name              string
	status            state.Status
	facts             slots.Facts
	auto, must, named string
}

// stored is the time when the runs of the table were stored.
var stored = time.Unix(1e9, 0)

func everyStatus() []foundRun {
	usage, conflict, over := slots.ClassUsage, slots.ClassConflict, slots.ClassOverLimit
	rerun := slots.Facts{Found: slots.Found{InThisRun: true}, Attempt: 2}
	limited := slots.Facts{Found: slots.Found{InThisRun: true}, Attempt: 2, Budget: 12 * state.Dollar, MaxIterations: 50}
	return []foundRun{
		{"suspended", state.Suspended, slots.Facts{}, "resume", "resume", "resume"},
		{"cancelled", state.Cancelled, slots.Facts{}, "resume", "resume", "resume"},
		{"completed", state.Completed, slots.Facts{}, "new", usage, usage},
		{"unknown", "paused", slots.Facts{}, "new", usage, usage},

		{"running, run over", state.Running, slots.Facts{Found: slots.Found{RunStatus: "completed"}}, "resume", "resume", "resume"},
		{"running, this run, job over", state.Running, slots.Facts{Found: slots.Found{InThisRun: true, JobStatus: "completed"}}, "resume", "resume", "resume"},
		{"running, this run, job goes on", state.Running, slots.Facts{Found: slots.Found{InThisRun: true, JobStatus: "in_progress"}, Now: stored.Add(time.Hour)}, conflict, conflict, conflict},
		{"running, this run, just stored", state.Running, slots.Facts{Found: slots.Found{InThisRun: true}, Now: stored.Add(119 * time.Second)}, conflict, conflict, conflict},
		{"running, this run, long ago", state.Running, slots.Facts{Found: slots.Found{InThisRun: true}, Now: stored.Add(120 * time.Second)}, "resume", "resume", "resume"},
		{"running, in progress", state.Running, slots.Facts{Found: slots.Found{RunStatus: "in_progress"}}, conflict, conflict, conflict},
		{"running, unknown", state.Running, slots.Facts{}, conflict, conflict, conflict},

		{"failed", state.Failed, slots.Facts{}, "new", usage, "resume"},
		{"failed, same issue", state.Failed, slots.Facts{Number: 7}, "resume", "resume", "resume"},
		{"failed, other issue", state.Failed, slots.Facts{Number: 8}, "new", usage, "resume"},

		{"over budget, as spent", state.OverBudget, slots.Facts{Budget: 12 * state.Dollar}, "new", over, over},
		{"over budget, larger", state.OverBudget, slots.Facts{Budget: 12*state.Dollar + 1}, "resume", "resume", "resume"},
		{"over budget, none", state.OverBudget, slots.Facts{}, "resume", "resume", "resume"},
		{"over iterations, same", state.OverIterations, slots.Facts{MaxIterations: 50}, "new", over, over},
		{"over iterations, larger", state.OverIterations, slots.Facts{MaxIterations: 51, Budget: 1}, "resume", "resume", "resume"},
		{"over iterations, none", state.OverIterations, slots.Facts{}, "resume", "resume", "resume"},

		{"re-run, failed", state.Failed, rerun, "resume", "resume", "resume"},
		{"attempt 2 of another run, failed", state.Failed, slots.Facts{Attempt: 2}, "new", usage, "resume"},
		{"re-run, completed", state.Completed, rerun, "restore", "restore", "restore"},
		{"attempt 2 of another run, completed", state.Completed, slots.Facts{Attempt: 2}, "new", usage, usage},
		{"a job before it, completed", state.Completed, slots.Facts{Found: slots.Found{InThisRun: true}, Attempt: 1}, "new", usage, usage},
		{"continued elsewhere, completed", state.Completed, slots.Facts{Found: slots.Found{OlderHere: true}, Attempt: 1}, "restore", "restore", "restore"},
		{"continued elsewhere, in progress", state.Running, slots.Facts{Found: slots.Found{OlderHere: true, RunStatus: "in_progress"}}, conflict, conflict, conflict},
		{"continued elsewhere, failed", state.Failed, slots.Facts{Found: slots.Found{OlderHere: true}, Attempt: 1}, "new", usage, "resume"},
		{"re-run, continued elsewhere, failed", state.Failed, slots.Facts{Found: slots.Found{OlderHere: true}, Attempt: 2}, "resume", "resume", "resume"},
		{"re-run, continued elsewhere, over budget", state.OverBudget, slots.Facts{Found: slots.Found{OlderHere: true}, Attempt: 2, Budget: 12 * state.Dollar}, over, over, over},
		{"re-run, over budget", state.OverBudget, limited, over, over, over},
		{"re-run, over iterations", state.OverIterations, limited, over, over, over},
		{"re-run, over iterations, larger", state.OverIterations, slots.Facts{Found: slots.Found{InThisRun: true}, Attempt: 2, MaxIterations: 51}, "resume", "resume", "resume"},

		{"changed, take", state.Suspended, slots.Facts{Changed: []string{"A.md"}, ChangedWorkflow: "take"}, "resume", "resume", "resume"},
		{"changed, new", state.Suspended, slots.Facts{Changed: []string{"A.md"}, ChangedWorkflow: "new"}, "new", conflict, conflict},
		{"changed, refuse", state.Suspended, slots.Facts{Changed: []string{"A.md"}, ChangedWorkflow: "refuse"}, conflict, conflict, conflict},
		{"changed and driven", state.Running, slots.Facts{Found: slots.Found{RunStatus: "in_progress"}, Changed: []string{"A.md"}}, conflict, conflict, conflict},
	}
}

// TestDecide checks every status in every mode, and the case without a run.
func TestDecide(t *testing.T) {
	for _, tt := range everyStatus() {
		m := &checkpoint.Manifest{WorkflowID: id, Status: tt.status, Number: 7, TotalUSD: 12 * state.Dollar, Iterations: 50, RunID: 3, RunAttempt: 1, Created: stored}
		for mode, want := range map[string]string{slots.Auto: tt.auto, slots.Require: tt.must, id: tt.named} {
			tt.facts.Mode = mode
			got := slots.Decide(m, tt.facts)
			assert.Check(t, is.Equal(decision(got), want), "%s, mode %s: %+v, want %s", tt.name, mode, got, want)
			silent := want == "resume" && len(tt.facts.Changed) == 0
			if told := got.Why != ""; told == silent || (got.Hint != "") != (got.Action == slots.Refuse) {
				t.Errorf("%s, mode %s: %+v: a reason for all but a plain resume, a hint for a refusal", tt.name, mode, got)
			}
		}
	}
	for mode, want := range map[string]string{slots.Auto: "new", slots.Require: slots.ClassUsage, id: slots.ClassUsage} {
		assert.Check(t, is.Equal(decision(slots.Decide(nil, slots.Facts{Mode: mode})), want), "nothing found, mode %s", mode)
	}
	// The post phase of a step stores a run only after its main phase has ended.
	m := &checkpoint.Manifest{WorkflowID: id, Status: state.Running, RunID: 3, Job: "build", Ended: true}
	for _, f := range []slots.Found{{}, {InThisRun: true, JobStatus: "in_progress"}} {
		assert.Check(t, is.Equal(decision(slots.Decide(m, slots.Facts{Mode: slots.Auto, Found: f})), "resume"), "stored by a post part: %+v", f)
	}
}

// TestOtherHeadSupersedesUnfinishedRun checks that an event of another head supersedes an
// unfinished run, unless the run waits for a person. A comment, which has no head, and an id can
// resume every run.
func TestOtherHeadSupersedesUnfinishedRun(t *testing.T) {
	const conflict, usage = slots.ClassConflict, slots.ClassUsage
	over, driven := slots.Found{RunStatus: "completed"}, slots.Found{RunStatus: "in_progress"}
	replaced := slots.Found{InThisRun: true, SupersededBy: "run b"}
	for _, tt := range []foundRun{
		{"the same head", state.Suspended, slots.Facts{Head: "old"}, "resume", "resume", "resume"},
		{"no head", state.Suspended, slots.Facts{}, "resume", "resume", "resume"},
		{"suspended", state.Suspended, slots.Facts{Head: "new"}, "supersede", conflict, "resume"},
		{"cut off", state.Running, slots.Facts{Head: "new", Found: over}, "supersede", conflict, "resume"},
		{"driven now", state.Running, slots.Facts{Head: "new", Found: driven}, conflict, conflict, conflict},
		{"failed, same pull request", state.Failed, slots.Facts{Head: "new", Number: 7}, "supersede", conflict, "resume"},
		{"over budget", state.OverBudget, slots.Facts{Head: "new"}, "supersede", conflict, "resume"},
		{"completed", state.Completed, slots.Facts{Head: "new"}, "new", usage, usage},
		{"a commit of the run itself", state.Suspended, slots.Facts{Head: "new", Current: "new", Commits: []string{"new"}}, "resume", "resume", "resume"},
		{"a question is open", state.Suspended, slots.Facts{Head: "new", AsksPeople: true}, "skip", "skip", "resume"},
		{"no longer current", state.Suspended, slots.Facts{Head: "old", Current: "new"}, "skip", "skip", "resume"},
		{"the run has moved the head", state.Suspended, slots.Facts{Head: "old", Current: "new", Commits: []string{"new"}}, "resume", "resume", "resume"},
		{"superseded", state.Suspended, slots.Facts{Head: "old", Found: replaced}, "skip", "skip", "resume"},
		{"superseded, re-run of a pull request", state.Cancelled, slots.Facts{Head: "old", Number: 7, Attempt: 2, Found: replaced}, "skip", "skip", "resume"},
		{"superseded, re-run of a push", state.Cancelled, slots.Facts{Head: "old", Attempt: 2, Found: replaced}, "new", "skip", "resume"},
		{"has superseded a run of this head", state.Suspended, slots.Facts{Head: "older"}, "supersede", "skip", "resume"},
	} {
		m := &checkpoint.Manifest{WorkflowID: id, Status: tt.status, Head: "old", Number: 7, Supersedes: checkpoint.SupersededRun{WorkflowID: "a", Head: "older"}}
		for mode, want := range map[string]string{slots.Auto: tt.auto, slots.Require: tt.must, id: tt.named} {
			tt.facts.Mode = mode
			got := slots.Decide(m, tt.facts)
			assert.Check(t, is.Equal(decision(got), want), "%s, mode %s: %+v", tt.name, mode, got)
			assert.Check(t, want == "resume" || got.Why != "", "%s, mode %s", tt.name, mode)
		}
	}
	for mode, want := range map[string]string{slots.Auto: "skip", slots.Never: "skip", id: usage} {
		assert.Check(t, is.Equal(decision(slots.Decide(nil, slots.Facts{Mode: mode, Head: "old", Current: "new"})), want), "no run, mode %s", mode)
	}
	assert.Check(t, is.Equal(decision(slots.Decide(nil, slots.Facts{Mode: slots.Never, Head: "new", Current: "new"})), "new"))
}

// TestMissingContents checks that missing contents matter only if the run had any: then mode auto
// begins a new run, with a warning that names only the actual cause.
func TestMissingContents(t *testing.T) {
	transcripts, workspace := checkpoint.Omission{What: "transcripts", Existed: true, Why: checkpoint.NoKey}, checkpoint.Omission{What: "workspace", Why: checkpoint.NoKey}
	large := checkpoint.Omission{What: "workspace", Existed: true, Why: checkpoint.TooLarge}
	for _, tt := range []struct {
		left         []checkpoint.Omission
		without      bool
		auto, must   string
		names, never string
	}{
		{nil, false, "resume", "resume", "", ""},
		{[]checkpoint.Omission{workspace}, false, "resume", "resume", "", ""},
		{[]checkpoint.Omission{workspace, transcripts}, false, "new, warned", slots.ClassDenied, "state-key", "workspace"},
		{[]checkpoint.Omission{large}, false, "new, warned", slots.ClassDenied, "256 MiB", "state-key"},
		{[]checkpoint.Omission{workspace, transcripts}, true, "resume", "resume", "", ""},
	} {
		for mode, want := range map[string]string{slots.Auto: tt.auto, slots.Require: tt.must, id: tt.must} {
			m := &checkpoint.Manifest{WorkflowID: id, Status: state.Suspended, Omissions: tt.left}
			got := slots.Decide(m, slots.Facts{Mode: mode, ResumeWithoutTranscript: tt.without})
			assert.Check(t, is.Equal(decision(got), want), "%+v, mode %s: %+v, want %s", tt.left, mode, got, want)
			if !strings.Contains(got.Why, tt.names) || tt.never != "" && strings.Contains(got.Why+got.Hint, tt.never) {
				t.Errorf("%+v: %q; %q: want %q named, and not %q", tt.left, got.Why, got.Hint, tt.names, tt.never)
			}
		}
	}
	m := &checkpoint.Manifest{WorkflowID: id, Status: state.Completed, Omissions: []checkpoint.Omission{transcripts}}
	got := slots.Decide(m, slots.Facts{Mode: slots.Auto})
	assert.Check(t, is.Equal(decision(got), "new"), "a run that is over: %+v", got)
}

// TestRerunOfAnUnresumableRun checks that a rerun doesn't depend on how the run has ended or on
// changed states, but that no job may be driving the run and nothing may be missing.
func TestRerunOfAnUnresumableRun(t *testing.T) {
	for _, status := range []state.Status{state.Completed, state.Failed, state.Suspended, state.Cancelled, state.OverBudget, state.OverIterations, state.Running} {
		m := &checkpoint.Manifest{WorkflowID: id, Status: status, TotalUSD: 12 * state.Dollar, Iterations: 50}
		f := slots.Facts{Found: slots.Found{RunStatus: "completed"}, Mode: id, Budget: state.Dollar, MaxIterations: 1, Changed: []string{"A.md"}}
		assert.Check(t, is.Equal(slots.DecideRerun(m, f).Action, slots.Resume), status)
		m.Omissions = []checkpoint.Omission{{What: "transcripts", Existed: true, Why: checkpoint.NoKey}}
		assert.Check(t, is.Equal(decision(slots.DecideRerun(m, f)), slots.ClassDenied), "%s, without its conversations", status)
	}
	f := slots.Facts{Found: slots.Found{RunStatus: "in_progress"}, Mode: id}
	assert.Check(t, is.Equal(decision(slots.DecideRerun(&checkpoint.Manifest{WorkflowID: id, Status: state.Running}, f)), slots.ClassConflict), "a run that is driven")
	assert.Check(t, is.Equal(decision(slots.DecideRerun(nil, f)), slots.ClassUsage), "no run")
}

// TestCheckpointMustFollowTheRequiredOne checks that a checkpoint is a conflict, whatever the state
// of its run, if it is older than the required one, differs from it, or belongs to another run.
func TestCheckpointMustFollowTheRequiredOne(t *testing.T) {
	digest, other := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	named := slots.Named{WorkflowID: id, Generation: 5, Digest: digest}
	of := func(generation int, previous string) *checkpoint.Manifest {
		return &checkpoint.Manifest{WorkflowID: id, Generation: generation, Previous: previous, Status: state.Suspended}
	}
	anothers := of(9, "")
	anothers.WorkflowID = key + "-00000002"
	ended := of(4, "")
	ended.Status = state.Completed
	for name, c := range map[string]struct {
		m       *checkpoint.Manifest
		digest  string
		follows slots.Named
		want    string
	}{
		"the same":                  {of(5, other), digest, named, "resume"},
		"the next":                  {of(6, digest), other, named, "resume"},
		"a later one":               {of(7, other), other, named, "resume"},
		"an older one":              {of(4, other), other, named, slots.ClassConflict},
		"an older one, completed":   {ended, other, named, slots.ClassConflict},
		"another one in its place":  {of(5, other), other, named, slots.ClassConflict},
		"the next after another":    {of(6, other), other, named, slots.ClassConflict},
		"of another run":            {anothers, other, named, slots.ClassConflict},
		"none":                      {nil, "", named, slots.ClassConflict},
		"an older one, not named":   {of(4, other), other, slots.Named{}, "resume"},
		"none, and none was named ": {nil, "", slots.Named{}, "new"},
	} {
		got := slots.Decide(c.m, slots.Facts{Found: slots.Found{Digest: c.digest}, Mode: slots.Auto, Follows: c.follows})
		assert.Check(t, decision(got) == c.want && (c.want != slots.ClassConflict || got.Hint != ""), "%s: got %+v, want %s", name, got, c.want)
	}
}

func TestParseNamed(t *testing.T) {
	const id = "ci-issue-7-00000001"
	named := slots.Named{WorkflowID: id, Generation: 12, Digest: "sha256:" + strings.Repeat("0f", 32)}
	for text, want := range map[string]slots.Named{"": {}, named.String(): named} {
		if got, err := slots.ParseNamed(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	good := named.String()
	for _, bad := range []string{"x", ":", good + "0", good + "\n", strings.ToUpper(good), strings.Replace(good, ":12:", ":0:", 1),
		strings.Replace(good, ":12:", ":-1:", 1), strings.Replace(good, "sha256", "md5", 1), "../" + good, strings.TrimPrefix(good, id)} {
		got, err := slots.ParseNamed(bad)
		assert.Check(t, err != nil, "%q: got %+v, want an error", bad, got)
	}
}

// TestWhichJobsMayTakeARun checks which jobs may continue a run whose key they have not chosen
// themselves, because an event may start several jobs.
func TestWhichJobsMayTakeARun(t *testing.T) {
	work := &checkpoint.KeyOrigin{Job: "work", Default: true}
	both := work.WithJob("publish")
	leg := &checkpoint.KeyOrigin{Job: "work", Matrix: "0a1b2c3d", Default: true}
	for name, test := range map[string]struct {
		of    *checkpoint.KeyOrigin
		taker slots.Taker
		want  bool
	}{
		"the job whose key it is":                      {work, slots.Taker{Job: "work"}, true},
		"that job, which names another key by now":     {work, slots.Taker{Job: "work", Key: "issue-34"}, true},
		"another job":                                  {work, slots.Taker{Job: "triage"}, false},
		"another job with a key of its own":            {work, slots.Taker{Job: "triage", Key: "triage-34"}, false},
		"another job that names the key":               {work, slots.Taker{Job: "triage", Key: "issue-12"}, true},
		"the leg whose key it is":                      {leg, slots.Taker{Job: "work", Matrix: "0a1b2c3d"}, true},
		"another leg":                                  {leg, slots.Taker{Job: "work", Matrix: "ffffffff"}, false},
		"a leg of a job that had none":                 {work, slots.Taker{Job: "work", Matrix: "ffffffff"}, false},
		"a job to which the run was handed":            {work, slots.Taker{Job: "publish", Key: "issue-34", RunID: 7, NamesJob: true}, true},
		"such a job of another workflow run":           {work, slots.Taker{Job: "publish", Key: "issue-34", RunID: 8, NamesJob: true}, false},
		"a job that has resumed it before":             {both, slots.Taker{Job: "publish", Key: "issue-34", RunID: 8, NamesJob: true}, true},
		"a job beside it, to which none is handed":     {work, slots.Taker{Job: "triage", Key: "issue-34", RunID: 7}, false},
		"a job of that id in a reusable workflow":      {work, slots.Taker{Job: "work", Called: true}, false},
		"such a job that names the key":                {work, slots.Taker{Job: "work", Called: true, Key: "issue-12"}, true},
		"whose key is not known, the job that made it": {nil, slots.Taker{Job: "work"}, false},
		"whose key is not known, who names the key":    {nil, slots.Taker{Job: "work", Key: "issue-12"}, true},
		"no job, of a run of no job":                   {&checkpoint.KeyOrigin{}, slots.Taker{}, false},
	} {
		m := &checkpoint.Manifest{Key: "issue-12", KeyOrigin: test.of, RunID: 7, Job: "work"}
		assert.Check(t, is.Equal(test.taker.MayTake(m), test.want), name)
	}
}
