package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// recordedRuns lists the recorded runs for which there are golden files with the output of a job.
var recordedRuns = []string{"success", "forks", "keepgoing", "ralph", "overbudget", "failed", "hostile", "resumed", "script"}

// page stores the last summary that was written.
type page struct {
	text   string
	writes int
}

func (p *page) write(markdown string) error {
	p.text = markdown
	p.writes++
	return nil
}

// workflow is a workflow that contains the states of the recorded runs.
var workflow = sync.OnceValue(func() *protocol.Workflow {
	files := fstest.MapFS{}
	for _, name := range []string{
		"START.md", "TEST.sh", "REPORT.md", "WORK.md", "COLLECT.md", "CHECK.sh", "END.md", "WAIT.sh", "BUILD.md", "FIX.md",
		"GIVEUP.sh", "SUB.md",
	} {
		files[name] = &fstest.MapFile{Data: []byte("Work.\n")}
	}
	w, _ := protocol.Load(files, protocol.LoadOptions{})
	return w
})

// TestSummaryGolden compares the summaries of recorded runs with golden files.
func TestSummaryGolden(t *testing.T) {
	for _, name := range recordedRuns {
		t.Run(name, func(t *testing.T) {
			var p page
			f := newFanout(t)
			s := NewSummary(f.Model, SummaryOptions{
				Workflow: workflow(),
				Write:    p.write, WorkflowID: "review-1a2b3c4d", Title: "review of issue 12",
				Notes: []string{"Transcripts were left out: set `state-key`."}, Differences: []string{"Run w goes on at 1b01085, on the work begun at e907715."},
			})
			f.Add("summary", s)
			replayFile(t, name, f, 0, "Start this workflow again with `resume: auto` @ home.")
			f.Close()
			goldenFile(t, name+".summary.md", p.text)
			goldenFile(t, name+".overview.md", s.Overview())
		})
	}
}

// TestSummaryWriteInterval checks when a summary is written. It is written immediately at the start
// and the end of a segment, otherwise only if writeInterval has passed. Close writes it if it has
// changed.
func TestSummaryWriteInterval(t *testing.T) { synctest.Test(t, checkPauses) }

func checkPauses(t *testing.T) {
	var p page
	s := NewSummary(NewLiveModel(), SummaryOptions{Write: p.write})
	step := func(what string, wait time.Duration, want int, do func() error) {
		t.Helper()
		time.Sleep(wait)
		must(t, do())
		assert.Equal(t, p.writes, want, "%s: writes", what)
	}
	begin := func(name string) func() error {
		return func() error {
			return s.Report(state.Event{Time: nine, Agent: "main", State: name, Body: &state.StateStarted{Kind: "script"}})
		}
	}
	tick := func() error { return s.Tick(nine) }
	step("close before any event", 0, 0, s.Close)
	step("tick before any event", time.Hour, 0, tick)
	step("the start", 0, 1, func() error { return s.Report(state.Event{Time: nine, Body: &state.RunStarted{}}) })
	step("a state at once", 0, 1, begin("A.md"))
	step("tick too early", 1999*time.Millisecond, 1, tick)
	step("tick in time", time.Millisecond, 2, tick)
	step("tick with nothing new", time.Hour, 2, tick)
	step("a state later", 0, 3, begin("B.md"))
	step("the end at once", 0, 4, func() error {
		return s.Report(state.Event{Time: nine, Body: &state.RunFinished{Status: state.Completed}})
	})
	step("close with nothing new", 0, 4, s.Close)
	step("a checkpoint after the end", 0, 4, func() error {
		return s.Report(state.Event{Time: nine, Body: &state.Checkpoint{Store: "artifact"}})
	})
	step("close", 0, 5, s.Close)
	s.SetError("store: upload")
	step("close after an error", 0, 6, s.Close)
}

// TestTablesOfLongRuns checks that the table of a run with more than 25 executions is folded, and
// that a table with the totals by state comes before it. The folded table contains the first 50 and
// the last 150 executions, and the number of executions between them.
func TestTablesOfLongRuns(t *testing.T) {
	for _, n := range []int{25, 200, 201} {
		var p page
		f := newFanout(t)
		f.Add("summary", NewSummary(f.Model, SummaryOptions{Write: p.write}))
		for i := range n {
			name, cost := []string{"A.md", "B.md"}[i%2], state.USD(1+i%2)*state.Dollar
			f.Report(state.Event{Time: nine, Agent: "main", State: name, Body: &state.StateStarted{Kind: "prompt"}})
			f.Report(state.Event{Time: nine, Agent: "main", State: name, Body: &state.StateFinished{OK: i != 1, Spent: state.Spent{USD: cost}, DurationMS: 1000}})
		}
		f.Close()
		assert.Check(t, is.Equal(strings.Count(p.text, "| `main` |"), min(n, 200)), "%d executions", n)
		b, a := n/2, (n+1)/2
		sums := fmt.Sprintf("\n| `B.md` | %d | 1 | %s | $%d.00 |\n| `A.md` | %d |  | %s | $%d.00 |\n", b, formatMillis(int64(b)*1000), 2*b, a, formatMillis(int64(a)*1000), a)
		for want, isThere := range map[string]bool{
			sums: n > 25, fmt.Sprintf("<details><summary>All %d state executions</summary>", n): n > 25, "| … 1 more state … |": n > 200,
		} {
			assert.Check(t, is.Equal(strings.Contains(p.text, want), isThere), "%d executions: got %q: %t, want %t:\n%s", n, want, !isThere, isThere, p.text)
		}
	}
}

// linksIn returns the URLs that are links in Markdown: URLs in angle brackets that are not in code.
func linksIn(markdown string) []string {
	var found []string
	fenced := false
	for line := range strings.Lines(markdown) {
		if fenced = fenced != strings.HasPrefix(line, "```"); fenced {
			continue
		}
		for i, part := range strings.Split(line, "`") {
			for i%2 == 0 {
				_, rest, ok := strings.Cut(part, "<http")
				link, after, closed := strings.Cut(rest, ">")
				if !ok || !closed {
					break
				}
				found, part = append(found, "http"+link), after
			}
		}
	}
	return found
}

// TestResultLinks checks which URLs in a result become links in the summary and in the overview.
// Each link must go to exactly the URL that a reader sees.
func TestResultLinks(t *testing.T) {
	const pull = "https://forge.test/o/r/pull/7"
	long := strings.Repeat("a line without a link\n", 40)
	for result, want := range map[string][]string{
		pull:                   {pull},
		"Opened " + pull + ".": {pull},
		"See (" + pull + ") and <" + pull + "?a=b&c=%20#d>": {pull, pull + "?a=b&c=%20#d"},
		"two lines\n" + pull + "\n" + pull:                  {pull},
		long + pull + "\n" + long:                           {pull},
		"javascript:alert(1)":                               nil,
		"https://else.test/page":                            {"https://else.test/page"},
		"https://forge.test/other/x/pull/1":                 nil,
		"https://GitHub.com/other/x/pull/1":                 nil,
		"https://forge.test/o/r/../x/pull/1":                nil,
		"https://forge.test@evil.test/":                     nil,
		"https://forge.test\u200b.evil.test/":               {"https://forge.test.evil.test/"},
		pull + "\u202e/evil":                                {pull + "/evil"},
		pull + "é":                                          nil,
		"xhttps://forge.test/":                              nil,
		"https://forge.test/" + strings.Repeat("a", 400):    nil,
		"@eve $x$ <b>" + " " + pull + " `x` | [a](b)":       {pull},
		strings.Repeat(pull+"1 "+pull+"2 "+pull+"3\n", 5) + pull + "4 " + pull + "5 " + pull + "6": {pull + "1", pull + "2", pull + "3", pull + "4", pull + "5"},
	} {
		var p page
		f, text := newFanout(t), state.Text(result)
		s := NewSummary(f.Model, SummaryOptions{Write: p.write, WorkflowID: "w", Site: "https://forge.test/o/r/"})
		f.Add("summary", s)
		f.Report(state.Event{Seq: 1, Time: time.Unix(1, 0), Body: &state.RunStarted{}})
		f.Report(state.Event{Seq: 2, Time: time.Unix(2, 0), Body: &state.RunFinished{Status: state.Completed, Result: &text}})
		for what, got := range map[string]string{"summary": p.text, "overview": s.Overview()} {
			links := linksIn(got)
			assert.Check(t, is.DeepEqual(links, want), "%s of the result %.80q: got the links %q, want %q, in\n%s", what, result, links, want, got)
		}
	}
}

// TestManyWaitsFit checks the summary and the overview of a run with many waiting agents. Both must
// stay below their limits and show the first question with the comments that answer it. Many waits
// of one kind must not hide waits of another kind, and the number of questions that are not shown
// must be given.
func TestManyWaitsFit(t *testing.T) {
	t.Parallel()
	const agents = 12
	for _, filler := range []string{"中", "```\n"} {
		text := "begin" + strings.Repeat(filler, 20_000/len(filler)) + "end"
		var p page
		f := newFanout(t)
		s := NewSummary(f.Model, SummaryOptions{Write: p.write, Site: "https://github.com/acme/ledger/", JobContext: JobContext{Number: 7, Kind: "issue", Job: "work"}})
		f.Add("summary", s)
		f.Report(state.Event{Time: nine, Body: &state.RunStarted{BudgetUSD: state.Dollar}})
		n := 0
		for range agents {
			for _, b := range waitsWith(text) {
				if w := b.(*state.AgentWaits); w.For == state.ForAnswer {
					n++
					w.Number, w.Where, w.Choices = n, 0, append([]string{"a choice of words"}, slices.Repeat([]string{strings.Repeat("中", 45)}, 300)...)
				}
				n := fmt.Sprint(len(f.Model.openWaits()))
				f.Report(state.Event{Time: nine, Agent: "main_" + n, State: text, Body: b})
			}
		}
		reportAdvised(f, state.Event{Time: nine, Body: &state.RunFinished{Status: state.Suspended, Reason: text}}, text)
		for what, got := range map[string]string{"page": p.text, "overview": s.Overview()} {
			limit, shown := 8<<10, 3
			if what == "page" {
				limit, shown = 1_000_000, 10
			}
			assert.Check(t, len(got) < limit && utf8.ValidString(got), "%s of waits with 20,000 bytes of %q: %d bytes, valid UTF-8 %t", what, filler, len(got), utf8.ValidString(got))
			for _, want := range []string{"**Question 1**, asked by `main_0`", "`/raymond 1 a choice of words`", "[on issue 7](https://github.com/acme/ledger/issues/7)", "\n- for the job `", "\n- for the agents ", fmt.Sprintf("Also open: %d more questions.", n-shown)} {
				assert.Check(t, is.Contains(got, want), "%s of waits with %q has no %q:\n%.3000s", what, filler, want, got)
			}
			skeleton(t, got)
		}
	}
}

// TestPartShowsOnlyItsOwnAgents checks that the summary of a matrix part leaves out the waits of
// other parts. The jobs that drive those parts show them.
func TestPartShowsOnlyItsOwnAgents(t *testing.T) {
	run := &state.Run{Parts: []state.Part{
		{Name: "other", Agents: []state.Handover{{Agent: "main_work2"}}},
		{Name: "own", Agents: []state.Handover{{Agent: "main_work1"}}, Start: &state.PartStart{}},
	}}
	f := newFanout(t)
	s := NewSummary(f.Model, SummaryOptions{Write: new(page).write, JobContext: JobContext{Part: []string{"main_work1"}}})
	f.Add("summary", s)
	for i, id := range []string{"main", "main_work1", "main_work1_a1", "main_work12", "main_work2"} {
		q := state.AgentWaits{For: state.ForAnswer, Number: i + 1, Question: "?"}
		f.Report(state.Event{Agent: id, State: "A.md", Body: &q})
		run.Agents = append(run.Agents, &state.Agent{ID: id, Status: state.Waiting, Waits: &state.WaitCondition{For: state.ForAnswer, Question: &state.Question{Number: i + 1}}})
	}
	var known []string
	for _, w := range WaitsOf(run) {
		known = append(known, w.Agent)
	}
	assert.Check(t, is.DeepEqual(known, []string{"main_work1", "main_work1_a1"}), "WaitsOf")
	got := strings.Count(s.Overview(), "**To answer**")
	assert.Check(t, got == 2, "got %d questions in\n%s\nwant two", got, s.Overview())
}

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
	path := "testdata/pages/" + g.recording + ".jsonl"
	events, err := read(path)
	must(t, err)
	_, id, _ = strings.Cut(readFile(t, path), `"workflow_id":"`)
	id, _, _ = strings.Cut(id, `"`)
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
	f, advice := newFanout(t), strings.ReplaceAll(g.resume, "%", key)
	s := NewSummary(f.Model, SummaryOptions{
		Write: p.write, WorkflowID: id, Workflow: w, Site: "https://github.com/acme/ledger/", JobContext: g.place,
		Next: "If the job has ended, it was cut off. " + advice,
	})
	f.Add("summary", s)
	for _, e := range events {
		reportAdvised(f, e, advice)
	}
	f.Model.SetWaitDetails(g.waits)
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
