package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

var nine = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// writes is a writer that records each write separately.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

// startAgents reports the start of a run and of a prompt for each of several agents.
func startAgents(t *testing.T, c *Console, agents int) {
	t.Helper()
	for i := range agents {
		e := state.Event{
			Seq: i + 1, Time: nine, Agent: fmt.Sprintf("main_work%d", i), State: "WORK.md",
			Body: &state.StateStarted{Kind: "prompt", Attempt: 1},
		}
		report(t, c, e)
	}
}

// usedModel returns the model that the reporter reads.
func (c *Console) usedModel() *Model     { return c.model }
func (d *DebugWriter) usedModel() *Model { return d.model }
func (j *JobReporter) usedModel() *Model { return j.console.model }
func (a *Annotations) usedModel() *Model { return a.model }
func (s *Summary) usedModel() *Model     { return s.model }

// inModel adds an event to the model that a reporter reads, as a Fanout does.
func inModel(to Reporter, e state.Event) {
	if of, ok := to.(advisedReporter); ok {
		to = of.Reporter
	}
	if to, ok := to.(interface{ usedModel() *Model }); ok {
		to.usedModel().Add(e)
	}
}

// report adds an event to the model that a reporter reads, and reports it. The test fails on an
// error.
func report(t *testing.T, to Reporter, e state.Event) {
	t.Helper()
	inModel(to, e)
	assert.NilError(t, to.Report(e), "report %+v", e)
}

// TestLiveLinesCanBeTurnedOff checks that SetLive erases the live lines immediately when they are
// turned off, and draws them again when they are turned on.
func TestLiveLinesCanBeTurnedOff(t *testing.T) {
	var w writes
	c := NewConsole(&w, NewLiveModel(), ConsoleOptions{Terminal: true})
	startAgents(t, c, 2)
	must(t, c.Doing("main_work0", "WORK.md", runner.Progress{Activity: "running Bash(make \x1b[2J)"}))
	must(t, c.Tick(nine.Add(time.Second)))
	assert.Check(t, is.Equal(strings.Count(strings.Join(w, ""), `running Bash(make )`), 1), "live lines")
	must(t, c.SetLive(false))
	assert.Check(t, is.Equal(w[len(w)-1], "\r\x1b[2A\x1b[J"), "at once")
	before := len(w)
	must(t, c.SetLive(false))
	must(t, c.Tick(nine.Add(2*time.Second)))
	assert.Check(t, is.Equal(strings.Join(w[before:], ""), ""), "meanwhile")
	must(t, c.Tick(nine.Add(time.Minute)))
	got := strings.Join(w[before:], "")
	assert.Check(t, strings.Count(got, ": working for ") == 2 && strings.Contains(got, "; running Bash(make )") && !strings.Contains(got, "\x1b"), "after a minute: got %q, want a whole line for each agent", got)
	must(t, c.SetLive(true))
	assert.Check(t, is.Equal(strings.Count(w[len(w)-1], "  "+string(markRunning)+"  "), 2), "afterwards")
}

// TestLiveLinesFitTheScreen checks that the number and the width of live lines are limited.
// Otherwise, a terminal could not erase them.
func TestLiveLinesFitTheScreen(t *testing.T) {
	var w writes
	c := NewConsole(&w, NewLiveModel(), ConsoleOptions{Terminal: true, Width: 40})
	startAgents(t, c, 30)
	w = nil
	must(t, c.Tick(nine.Add(time.Minute)))
	out := strings.Join(w, "")
	got := strings.Count(out, "\n")
	assert.Check(t, got <= 12 && strings.Contains(out, "and 20 more"), "30 agents: %d rows, want at most 12 and the number of the others:\n%s", got, out)
	for row := range strings.SplitSeq(out, "\n") {
		row = row[strings.LastIndex(row, "J")+1:]
		assert.Check(t, columns(row) < 40, "live line %q has %d columns, want less than 40", row, columns(row))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	assert.NilError(t, err)
}
