package ask_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

func question(number int, choices ...string) report.Wait {
	return report.Wait{Agent: "main", AgentWaits: state.AgentWaits{For: state.ForAnswer, Number: number, Choices: choices}}
}

// waitFor returns a wait of the agent main. job is the name of the job that it waits for, if kind is ForJob.
func waitFor(kind state.WaitFor, job string) report.Wait {
	return report.Wait{Agent: "main", AgentWaits: state.AgentWaits{For: kind, Job: job}}
}

// nine is the time until which suspended runs in these tests wait.
var nine = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// withWaits returns a function that sets the waits of the run's agents.
func withWaits(all ...report.Wait) func(*ask.Facts) {
	return func(f *ask.Facts) { f.Waits = all }
}

// withOmissions returns a function that adds omissions to the checkpoint, all for the same reason.
func withOmissions(why string, what ...string) func(*ask.Facts) {
	return func(f *ask.Facts) {
		for _, w := range what {
			f.LeftOut = append(f.LeftOut, checkpoint.Omission{What: w, Why: why})
		}
	}
}

// withStatus returns a function that sets the run's status and applies further changes.
func withStatus(s state.Status, in ...func(*ask.Facts)) func(*ask.Facts) {
	return func(f *ask.Facts) {
		f.Status = s
		for _, change := range in {
			change(f)
		}
	}
}

// The following functions change one fact about a run.
func never(f *ask.Facts)   { f.NeverResume = true }
func blind(f *ask.Facts)   { f.NoActionsRead = true }
func locally(f *ask.Facts) { f.Storage = ask.StoredLocally }
func noIssue(f *ask.Facts) { f.Number = 0 }
func ofHead(f *ask.Facts)  { f.Head = "0123456789" }

// nextSteps are the test cases of TestNextSteps. Each changes the facts about a suspended run, which is
// stored as an artifact and belongs to issue 12, and contains the expected text.
var nextSteps = []struct {
	name string
	do   func(*ask.Facts)
	want string
}{
	{"completed", withStatus(state.Completed), ""},
	{"suspended", withStatus(state.Suspended), "The next run with `key: k` resumes it, or the re-run button."},
	{"of one branch", func(f *ask.Facts) { f.Branch = "b" }, "The next run with `key: k` on the branch `b` resumes it, or the re-run button."},
	{"about a head", ofHead, "The next run with `key: k` for the head `0123456` resumes it, or the re-run button. An event of another head supersedes it."},
	{"failed, about a head", withStatus(state.Failed, ofHead), "Fix the cause, then press the re-run button, or run the workflow with `resume: k-1a2b3c4d`."},
	{"a question about a head", withStatus(state.Suspended, ofHead, withWaits(question(1))), "Answer question 1 with a comment on issue 12: `/raymond your answer`."},
	{"from a time on", func(f *ask.Facts) { f.Until = nine }, "The next run with `key: k` resumes it from 2026-03-01 09:00 UTC on, or the re-run button."},
	{"stored later", withStatus(state.Cancelled, func(f *ask.Facts) { f.Storage, f.Until = ask.StoredLater, nine }),
		"The next run with `key: k` resumes it, or the re-run button. It is stored by the post part when this job ends."},
	{"stored by post", func(f *ask.Facts) { f.PostArtifact = "a" }, "The next run with `key: k` resumes it, or the re-run button. It is stored as `a` by the post part."},
	{"running", withStatus(state.Running), "If the job has ended, it was cut off. The next run with `key: k` resumes it, or the re-run button."},
	{"a job follows", func(f *ask.Facts) { f.Successor = "go-on" },
		"The job `go-on` of this workflow run resumes it. If it does not: The next run with `key: k` resumes it, or the re-run button."},
	{"resume: never", never, "The next run with `key: k` resumes it. The step that resumes it needs `resume: auto`; with `resume: never`, as here, each one starts from the beginning."},
	{"no actions: read", blind,
		"A later job of this workflow run with `key: k` resumes it, or the re-run button. Later workflow runs can't find it without `permissions: actions: read`."},
	{"kept locally", locally, "The next run on this machine with `state-dir: runs` and `key: k` resumes it."},
	{"failed", withStatus(state.Failed), "Fix the cause, then press the re-run button, or have the next event on this issue try it again."},
	{"failed, on no issue", withStatus(state.Failed, noIssue), "Fix the cause, then press the re-run button, or run the workflow with `resume: k-1a2b3c4d`."},
	{"failed, resume: never", withStatus(state.Failed, never), "Fix the cause, then run the step again with `key: k` and `resume: k-1a2b3c4d`."},
	{"failed, no actions: read", withStatus(state.Failed, blind), "Fix the cause, then press the re-run button. Later workflow runs can't find it without `permissions: actions: read`."},
	{"failed, kept locally", withStatus(state.Failed, locally), "Fix the cause, then run the step again on this issue, on this machine with `state-dir: runs` and `key: k`."},
	{"failed, on no issue, kept locally", withStatus(state.Failed, locally, noIssue),
		"Fix the cause, then run the step again on this machine with `state-dir: runs` and `key: k` and `resume: k-1a2b3c4d`."},
	{"failed for a known cause", withStatus(state.Failed, func(f *ask.Facts) { f.Cause = "the agents had no key" }),
		"The agents had no key. Fix the cause, then press the re-run button, or have the next event on this issue try it again."},
	{"over budget", withStatus(state.OverBudget, func(f *ask.Facts) { f.Budget = 5 * state.Dollar }),
		"Raise `budget` above `$5`, then run the workflow again with `key: k`. The re-run button can't: it keeps the old limit."},
	{"over a smaller budget", withStatus(state.OverBudget, blind), "Raise `budget` above `$1`, then run the workflow again with `key: k`. " +
		"Later workflow runs can't find it without `permissions: actions: read`. The re-run button can't: it keeps the old limit."},
	{"over a limit of many runs", withStatus(state.OverBudget, func(f *ask.Facts) {
		f.Cap = ask.Cap{Which: "budget-per-key", Spent: 7 * state.Dollar, Max: 5 * state.Dollar}
	}), "Raise `budget-per-key` above `$7`, or wait: only what was spent in the last 24 hours counts. The next run with `key: k` resumes it, or the re-run button."},
	{"over iterations", withStatus(state.OverIterations, locally), "Raise `max-iterations` above `7`, then run the workflow again on this machine with `state-dir: runs` and `key: k`."},

	{"kept nowhere", func(f *ask.Facts) { f.Storage, f.Cause = ask.NotStored, "the agents had no key" }, "The agents had no key. This run can't be resumed: the reason."},
	{"of a fork", withOmissions(checkpoint.FromFork, "workspace"), "This run can't be resumed: it was started by the event of a fork, whose runs are never resumed. " +
		"A run of an event of this repository itself, such as a comment on the pull request, can be resumed."},
	{"without a key", withOmissions(checkpoint.NoKey, "workspace", "transcripts"), "This run can't be resumed as it is: its transcripts and workspace could not be stored, because " +
		"anyone can read the artifacts of a public repository. With a `state-key` (`raymond keygen` makes one) they are stored encrypted. " +
		"With `resume-without-transcript: true` a later run continues without them."},
	{"without a key, and without them", func(f *ask.Facts) {
		withOmissions(checkpoint.NoKey, "workspace")(f)
		f.WithoutTranscript = true
	}, "This run can't be resumed as it was: its workspace could not be stored, because anyone can read the artifacts of a public repository. " +
		"With a `state-key` (`raymond keygen` makes one) they are stored encrypted. Another run with `resume-without-transcript: true` starts from the checkout instead."},
	{"too large", withOmissions(checkpoint.TooLarge, "workspace"), "This run can't be resumed as it is: its workspace could not be stored, because it is over 256 MiB. " +
		"Have git ignore large files, or set `workspace: none` if no work has to be kept. With `resume-without-transcript: true` a later run continues without them."},
	{"a partial clone", withOmissions(checkpoint.NoObjects, "workspace"), "This run can't be resumed as it is: its workspace could not be stored, because the clone is partial, and origin did not give the " +
		"objects that it lacks. Let `github-token` read the repository, or check out without `filter`. With `resume-without-transcript: true` a later run continues without them."},
	{"too large, and without it", func(f *ask.Facts) {
		withOmissions(checkpoint.TooLarge, "workspace")(f)
		f.WithoutTranscript = true
	}, "The next run with `key: k` resumes it, or the re-run button."},

	{"a question", withWaits(question(1)),
		"Answer question 1 with a comment on issue 12: `/raymond your answer`."},
	{"choices", withWaits(question(2, "yes", "no")),
		"Answer question 2 with a comment on issue 12: `/raymond yes` or `/raymond no`."},
	{"many choices", withWaits(question(2, "a", "b", "c", "d", "e")),
		"Answer question 2 with a comment on issue 12: `/raymond a`, `/raymond b`, `/raymond c` or 2 more."},
	{"a choice with a backtick", withWaits(question(1, "yes", "`no`")),
		"Answer question 1 with a comment on issue 12: `/raymond your answer`."},
	{"another prefix", func(f *ask.Facts) { f.Waits, f.Prefix = []report.Wait{question(1, "yes")}, "@robot:" },
		"Answer question 1 with a comment on issue 12: `@robot: yes`."},
	{"another place", withWaits(report.Wait{Agent: "main", AgentWaits: state.AgentWaits{For: state.ForAnswer, Number: 3, Where: 34}}),
		"Answer question 3 with a comment on issue or pull request 34: `/raymond your answer`."},
	{"no place", func(f *ask.Facts) { f.Waits, f.Number = []report.Wait{question(1)}, 0 },
		"Answer question 1 with a comment where it is asked: `/raymond your answer`."},
	{"several questions", withWaits(question(5), question(2, "yes"), question(9), question(7)),
		"Answer the questions 2, 5, 7 and 1 more with a comment each, such as `/raymond 2 yes` for question 2."},
	{"a timeout", func(f *ask.Facts) { f.Waits, f.Until = []report.Wait{question(1)}, nine },
		"Answer question 1 with a comment on issue 12: `/raymond your answer`. If there is no answer by 2026-03-01 09:00 UTC, " +
			"the next run with `key: k` resumes it without an answer. A `schedule` (`on: schedule`) starts it."},
	{"a time", func(f *ask.Facts) {
		f.Waits, f.Until, f.NoSchedule = []report.Wait{waitFor(state.ForTime, "")}, nine, true
	},
		"The next run with `key: k` resumes it from 2026-03-01 09:00 UTC on, or the re-run button. The workflow has no `schedule` that would start it."},
	{"a job", func(f *ask.Facts) {
		f.Waits = []report.Wait{waitFor(state.ForJob, "publish"), waitFor(state.ForJob, "publish")}
	},
		"A later job of this workflow run with `job: publish`, `key: k` and `resume: require` resumes it."},
	{"a job that follows", func(f *ask.Facts) {
		f.Waits, f.Successor = []report.Wait{waitFor(state.ForJob, "publish")}, "release"
	},
		"The job `release` of this workflow run resumes it."},
	{"agents", withWaits(waitFor(state.ForAgents, "")),
		"The next run with `key: k` resumes it, or the re-run button."},
	{"a question, which later runs can't find", func(f *ask.Facts) { f.Waits, f.NoActionsRead = []report.Wait{question(1)}, true },
		"Answer question 1 with a comment on issue 12: `/raymond your answer`. Later workflow runs can't find it without `permissions: actions: read`."},
	{"a question with resume: never", func(f *ask.Facts) { f.Waits, f.NeverResume = []report.Wait{question(1)}, true },
		"Answer question 1 with a comment on issue 12: `/raymond your answer`. The step that resumes it needs `resume: auto`; with `resume: never`, as here, each one starts from the beginning."},
	{"a part of a matrix", func(f *ask.Facts) { f.Waits, f.Part = []report.Wait{question(1)}, []string{"main_work1"} },
		"The step with `key: k` and without `part` joins what this part of the run has done."},
	{"a part that failed", func(f *ask.Facts) { f.Status, f.Part = state.Failed, []string{"main_work1"} },
		"The step with `key: k` and without `part` joins what this part of the run has done, and hands over again what is left to do; the re-run button runs the part once more."},
	{"a question that nobody can answer", func(f *ask.Facts) { f.Waits, f.Storage = []report.Wait{question(1)}, ask.NotStored },
		"This run can't be resumed: the reason."},
}

// TestNextSteps checks the text for each way in which a run can stop. It also checks that the text
// contains an even number of backticks.
func TestNextSteps(t *testing.T) {
	for _, c := range nextSteps {
		f := ask.Facts{
			Status: state.Suspended, WorkflowID: "k-1a2b3c4d", Key: "k", Storage: ask.StoredAsArtifact, WhyNotStored: "the reason", StateDir: "runs",
			Spent: state.Spent{USD: state.Dollar}, Iterations: 7, JobContext: report.JobContext{Number: 12, Kind: "issue"},
		}
		c.do(&f)
		got := ask.NextStepsFor(f)
		assert.Check(t, is.Equal(got.Text, c.want), c.name)
		if want := c.want != "" && !strings.Contains(c.want, "run can't be resumed"); got.Resumable != want || strings.Count(got.Text, "`")%2 != 0 {
			t.Errorf("%s: got resumable %t, want %t, and pairs of backticks", c.name, got.Resumable, want)
		}
	}
}

// TestFailureSaysWhatHelps checks the advice for failed runs. It depends on the failure: the re-run
// button doesn't help if files must be changed, and a repetition doesn't help if a conversation is too
// long.
func TestFailureSaysWhatHelps(t *testing.T) {
	const way, files = "Fix the cause, then press the re-run button, or run the workflow with `resume: w`.", " The button uses the files of this commit; to use changed files, take the other way."
	long := state.AgentFailure{Class: string(state.Fatal), Message: "prompt too long: Prompt is too long"}
	for want, c := range map[string]struct {
		agent   state.Agent
		refuses bool
	}{
		way + files: {state.Agent{State: "A.sh", Failure: &state.AgentFailure{Class: string(state.Fatal), Message: "exit code 1"}}, false},
		way + files + " It needs `changed-workflow: take`.": {state.Agent{State: "A.sh", Failure: &state.AgentFailure{Class: string(state.Fatal), Message: "exit code 1"}}, true},
		way: {state.Agent{State: "A.md", Failure: &state.AgentFailure{Class: string(state.Transient), Message: "no result"}}, true},
		"Shorten A.md and its input, or split it into states that lead on by <reset>. " + way + files: {state.Agent{State: "A.md", Failure: &long}, false},
		"Set `args: --max-agents=8`. " + way + files:                                                  {state.Agent{State: "A.md", Failure: &state.AgentFailure{Message: "max-agents: the run would have 5 agents at once, more than 4"}}, false},
		"Reset the conversation in a state before A.md. Then run the workflow with `resume: w@N`, where N is the number of `B.md` in the table of states.": {
			state.Agent{State: "A.md", By: "agent B.md", Session: &state.Session{ID: "s"}, Failure: &long}, false},
	} {
		run := &state.Run{Agents: []*state.Agent{&c.agent}, Options: state.Options{MaxAgents: 4}}
		f := ask.Facts{Status: state.Failed, WorkflowID: "w", Storage: ask.StoredAsArtifact, Cure: report.AdviceForJob(run), RefusesChanges: c.refuses}
		assert.Check(t, is.Equal(ask.NextStepsFor(f).Text, want), c.agent.Failure.Message)
	}
}

// TestHasNoSchedule checks that HasNoSchedule returns true only for workflow files that can be read, name
// their triggers, and have no schedule among them.
func TestHasNoSchedule(t *testing.T) {
	for file, want := range map[string]bool{
		"on: push": true, "on: [push, issues]": true, "on: {issues: {types: [labeled]}}": true, "\"on\": push": true,
		"on: schedule": false, "on: [push, schedule]": false, "on: {schedule: [{cron: '0 * * * *'}]}": false,
		"": false, "on: [": false,
	} {
		assert.Check(t, is.Equal(ask.HasNoSchedule([]byte("jobs: {}\n"+file)), want), "%q", file)
	}
}
