package report

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// shownPage describes a realistic summary. docs/render-summaries makes screenshots of these
// summaries.
type shownPage struct {
	name      string
	recording string // name of a file in testdata/pages
	workflow  string // name of a folder in testdata/pages
	resume    string
	events    int // number of recorded events to report; 0 means all
	place     JobContext
	waits     []Wait // details of waits that the events don't contain
}

const (
	again  = "The next run with `key: %` resumes it, or the re-run button."
	repair = "Fix the cause, then press the re-run button, or run the workflow with `resume: fix-flaky-tests-main-51e07ab9`."
	answer = "Answer question 1 with a comment on issue 412: `/raymond yes`, `/raymond no` or `/raymond smaller`. " +
		"If nobody has answered by 2026-03-04 09:14 UTC, the next run with `key: %` resumes it without an answer. A `schedule` (`on: schedule`) starts one by itself."
	publish = "The job `publish` of this workflow run resumes it. " +
		"The next run with `key: %` resumes it from 2026-03-02 09:34 UTC on, or the re-run button. The workflow has no `schedule` that would start one by itself."
	raise = "Raise `budget` above `$1.5351`, then run the workflow again with `key: %`. The re-run button can't: it keeps the old limit."
)

var shownPages = []shownPage{
	{name: "plain", recording: "plain", workflow: "issue-to-pr", resume: again},
	{name: "forks", recording: "forks", workflow: "forks", resume: again},
	{name: "worker", recording: "worker", workflow: "worker", resume: repair},
	{name: "ralph", recording: "ralph", workflow: "ralph", resume: again},
	{name: "overbudget", recording: "resumed", workflow: "issue-to-pr", resume: raise, events: 32},
	{name: "resumed", recording: "resumed", workflow: "issue-to-pr", resume: again},
	{
		name: "asks", recording: "asks", workflow: "approve-plan", resume: answer, place: JobContext{Number: 412, Kind: "issue", Job: "work"},
		waits: []Wait{question412},
	},
	{
		name: "waits", recording: "waits", workflow: "watch-checks", resume: publish,
		place: JobContext{Number: 77, Kind: "pull request", Job: "work", NoSchedule: true},
	},
	{name: "running", recording: "forks", workflow: "forks", resume: again, events: 27},
}

// question412 is the question in the recording "asks", with all details that the state contains.
var question412 = Wait{
	Agent: "main", State: "DECIDE.md", Comment: 2210034117, AgentWaits: state.AgentWaits{
		For: state.ForAnswer, Number: 1, Until: "2026-03-04T09:14:36Z", TimeoutNext: "GIVE_UP.sh", From: []string{"octocat", "hubot"},
		Choices: []string{"yes", "no", "smaller"}, Question: `Plan for #412, "round half to even":

1. money.Round rounds half to even. Its three callers (invoice, tax, report) stay as they are.
2. Tests for -0.5, 0.5, 1.5 and 2.5, and for the largest amounts.
3. Totals of old invoices change by at most one cent; no data is migrated.

Shall I make this change?`,
	},
}

// read returns the recorded events for a summary, and the id of the recorded run.
func (g shownPage) read(t *testing.T) (events []state.Event, id string) {
	t.Helper()
	var all collector
	replayFile(t, "pages/"+g.recording, &all)
	_, id, _ = strings.Cut(readFile(t, "testdata/pages/"+g.recording+".jsonl"), `"workflow_id":"`)
	id, _, _ = strings.Cut(id, `"`)
	events = all
	if g.events > 0 {
		events = events[:g.events]
	}
	return events, id
}

// show returns the summary and the overview for the recorded events.
func (g shownPage) show(t *testing.T) (summary, overview string) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "pages", g.workflow+".txtar"))
	must(t, err)
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	events, id := g.read(t)
	w, problems := protocol.Load(files, protocol.LoadOptions{
		Entry: events[0].Body.(*state.RunStarted).Entry, Platform: protocol.Unix,
	})
	for _, p := range problems {
		t.Errorf("%s: %v", g.workflow, p)
	}
	key, _, _ := strings.Cut(id, id[strings.LastIndexByte(id, '-'):])
	var p page
	s := NewSummary(NewLiveModel(), SummaryOptions{
		Write: p.write, WorkflowID: id, Workflow: w, Site: "https://github.com/acme/ledger/", JobContext: g.place,
		Next: "If the job has ended, it was cut off. " + strings.ReplaceAll(g.resume, "%", key),
	})
	for _, e := range events {
		report(t, advisedReporter{s, strings.ReplaceAll(g.resume, "%", key)}, e)
	}
	s.model.SetWaitDetails(g.waits)
	must(t, s.write())
	return p.text, s.Overview()
}

// TestSummaryPages compares realistic summaries and overviews with golden files.
func TestSummaryPages(t *testing.T) {
	for _, g := range shownPages {
		t.Run(g.name, func(t *testing.T) {
			summary, overview := g.show(t)
			goldenFile(t, "pages/"+g.name+".summary.md", summary)
			goldenFile(t, "pages/"+g.name+".overview.md", overview)
		})
	}
}
