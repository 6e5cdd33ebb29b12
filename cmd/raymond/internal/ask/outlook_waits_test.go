package ask_test

import (
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

func question(number int, choices ...string) report.Wait {
	return report.Wait{Agent: "main", AgentWaits: state.AgentWaits{For: state.ForAnswer, Number: number, Choices: choices}}
}

func waitFor(kind state.WaitFor, job string) report.Wait {
	return report.Wait{Agent: "main", AgentWaits: state.AgentWaits{For: kind, Job: job}}
}

func askAt(number, where int) report.Wait {
	w := question(number)
	w.Where = where
	return w
}

// nine is when the time comes that a run waits for.
var nine = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// withWaits returns what makes agents of a run wait.
func withWaits(all ...report.Wait) func(*ask.Facts) {
	return func(f *ask.Facts) { f.Waits = all }
}

// saidOfWaits lists what is said of runs whose agents wait.
var saidOfWaits = []struct {
	name string
	do   func(*ask.Facts)
	want string
}{
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
	{"another place", withWaits(askAt(3, 34)),
		"Answer question 3 with a comment on issue or pull request 34: `/raymond your answer`."},
	{"no place", func(f *ask.Facts) { f.Waits, f.Number = []report.Wait{question(1)}, 0 },
		"Answer question 1 with a comment where it is asked: `/raymond your answer`."},
	{"several questions", withWaits(question(5), question(2, "yes"), question(9), question(7)),
		"Answer the questions 2, 5, 7 and 1 more with a comment each, such as `/raymond 2 yes` for question 2."},
	{"a timeout", func(f *ask.Facts) { f.Waits, f.Until = []report.Wait{question(1)}, nine },
		"Answer question 1 with a comment on issue 12: `/raymond your answer`. If nobody has answered by 2026-03-01 09:00 UTC, " +
			"the next run with `key: k` resumes it without an answer. A `schedule` (`on: schedule`) starts one by itself."},
	{"a time", func(f *ask.Facts) {
		f.Waits, f.Until, f.NoSchedule = []report.Wait{waitFor(state.ForTime, "")}, nine, true
	},
		"The next run with `key: k` resumes it from 2026-03-01 09:00 UTC on, or the re-run button. The workflow has no `schedule` that would start one by itself."},
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
	{"a question that nobody can answer", func(f *ask.Facts) { f.Waits, f.Kept = []report.Wait{question(1)}, ask.Nowhere },
		"Nobody can resume this run: the reason."},
}

// TestWaitsAreAnsweredAsIsSaid states what is said of runs whose agents wait.
func TestWaitsAreAnsweredAsIsSaid(t *testing.T) {
	for _, c := range saidOfWaits {
		f := ask.Facts{
			Status: state.Suspended, WorkflowID: "k-1a2b3c4d", Key: "k", Kept: ask.Stored, WhyNowhere: "the reason",
			Place: report.Place{Number: 12, Kind: "issue"},
		}
		c.do(&f)
		if got := ask.OutlookOf(f).Text; got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if n := strings.Count(ask.OutlookOf(f).Text, "`"); n%2 != 0 {
			t.Errorf("%s: got %d backticks, want pairs", c.name, n)
		}
	}
}

// TestHasNoSchedule: only a file that says what starts the workflow says that no schedule does.
func TestHasNoSchedule(t *testing.T) {
	for file, want := range map[string]bool{
		"on: push": true, "on: [push, issues]": true, "on: {issues: {types: [labeled]}}": true, "\"on\": push": true,
		"on: schedule": false, "on: [push, schedule]": false, "on: {schedule: [{cron: '0 * * * *'}]}": false,
		"": false, "on: [": false,
	} {
		if got := ask.HasNoSchedule([]byte("jobs: {}\n" + file)); got != want {
			t.Errorf("%q: got %v, want %v", file, got, want)
		}
	}
}
