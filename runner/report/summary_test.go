package report

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

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

func summaryTo(p *page) *Summary {
	return NewSummary(NewLiveModel(), SummaryOptions{
		Workflow: workflow(),
		Write:    p.write, WorkflowID: "review-1a2b3c4d", Title: "review of issue 12",
		Notes: []string{"Transcripts were left out: set `state-key`."}, Differences: []string{"Run w goes on at 1b01085, on the work begun at e907715."},
	})
}

func closed(t *testing.T, r Reporter) {
	t.Helper()
	must(t, r.Close())
}

// TestSummaryGolden compares the summaries of recorded runs with golden files.
func TestSummaryGolden(t *testing.T) {
	for _, name := range recordedRuns {
		t.Run(name, func(t *testing.T) {
			var p page
			s := summaryTo(&p)
			replayFile(t, name, advisedReporter{s, "Start this workflow again with `resume: auto` @ home."})
			closed(t, s)
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
		s := NewSummary(NewLiveModel(), SummaryOptions{Write: p.write})
		for i := range n {
			name, cost := []string{"A.md", "B.md"}[i%2], state.USD(1+i%2)*state.Dollar
			report(t, s, state.Event{Time: nine, Agent: "main", State: name, Body: &state.StateStarted{Kind: "prompt"}})
			report(t, s, state.Event{Time: nine, Agent: "main", State: name, Body: &state.StateFinished{OK: i != 1, Spent: state.Spent{USD: cost}, DurationMS: 1000}})
		}
		closed(t, s)
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
