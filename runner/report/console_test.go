package report

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// readers maps the names of golden files to the console options with which they are compared.
var readers = map[string]ConsoleOptions{
	"plain":    {},
	"quiet":    {Quiet: true, Terminal: true, Width: 160},
	"verbose":  {Verbose: true},
	"terminal": {Terminal: true, Color: true, Width: 72},
}

// TestConsoleGolden compares the console output for recorded runs with golden files. In these
// files, ^[ represents the escape character.
func TestConsoleGolden(t *testing.T) {
	for _, name := range []string{"forks", "failed", "resumed", "hostile", "script"} {
		for reader, o := range readers {
			t.Run(name+"/"+reader, func(t *testing.T) {
				o.WorkflowID = "review-1a2b3c4d"
				got := strings.ReplaceAll(console(t, name, o, 17*time.Second), "\x1b", "^[")
				goldenFile(t, name+"."+reader+".txt", got)
			})
		}
	}
}

// console returns a Console's output for a recorded run. Tick is called at the given interval.
func console(t *testing.T, name string, o ConsoleOptions, tick time.Duration) string {
	t.Helper()
	var out bytes.Buffer
	f := newFanout(t)
	f.Add("console", NewConsole(&out, f.Model, o))
	replayFile(t, name, f, tick, "")
	f.Close()
	return out.String()
}

// newFanout returns a Fanout that fails the test if a reporter returns an error.
func newFanout(t *testing.T) *Fanout {
	return NewFanout(func(name string, err error) { t.Errorf("%s: %v", name, err) })
}

// replayFile reports the events of a recorded run with advice. If every is positive, it calls Tick at this
// interval of the time in the events, but not in pauses of more than ten minutes.
func replayFile(t *testing.T, name string, f *Fanout, every time.Duration, advice string) {
	t.Helper()
	events, err := read(filepath.Join("testdata", name+".jsonl"))
	must(t, err)
	var next time.Time
	for _, e := range events {
		if next.IsZero() || e.Time.Sub(next) > 10*time.Minute {
			next = e.Time
		}
		for ; every > 0 && next.Before(e.Time); next = next.Add(every) {
			f.Tick(next)
		}
		reportAdvised(f, e, advice)
	}
}

// reportAdvised reports an event. After the end of a run that has not completed, it calls Next with the advice.
func reportAdvised(f *Fanout, e state.Event, advice string) {
	f.Report(e)
	if b, ok := e.Body.(*state.RunFinished); ok && b.Status != state.Completed && advice != "" {
		f.Next(advice)
	}
}

// goldenFile fails the test if a text differs from a golden file. With -update, it writes the file.
func goldenFile(t *testing.T, file, got string) {
	t.Helper()
	assert.Check(t, golden.String(got, file))
}

// TestConsoleShowsOutput checks that each line of a script's output is shown. In quiet mode, the
// lines are only shown if the script fails, before the line about the failure.
func TestConsoleShowsOutput(t *testing.T) {
	for name, c := range map[string]struct {
		quiet bool
		want  []string
	}{
		"usual": {false, []string{"fine", "FAIL: one", "it ends", "exit code 1"}},
		"quiet": {true, []string{"it ends", "FAIL: one", "exit code 1"}},
	} {
		var out bytes.Buffer
		f := newFanout(t)
		f.Add("console", NewConsole(&out, f.Model, ConsoleOptions{Quiet: c.quiet}))
		script := func(says string, end *state.StateFinished) {
			f.Report(state.Event{Agent: "main", State: "A.sh", Body: &state.StateStarted{Kind: "script", Attempt: 1}})
			f.Doing("main", "A.sh", runner.Progress{Text: says})
			if end.Error != "" {
				out.WriteString("it ends\n")
			}
			f.Report(state.Event{Agent: "main", State: "A.sh", Body: end})
		}
		script("fine", &state.StateFinished{OK: true})
		script("FAIL: \x1b[31mone", &state.StateFinished{Error: "exit code 1"})
		f.Close()
		shown := regexp.MustCompile("fine|FAIL: one|it ends|exit code 1").FindAllString(out.String(), -1)
		assert.Check(t, slices.Equal(shown, c.want), "%s: got %q, want %q, in\n%s", name, shown, c.want, &out)
	}
}

var nine = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// writes is a writer that records each write separately.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

// startAgents reports the start of a run and of a prompt for each of several agents.
func startAgents(f *Fanout, agents int) {
	for i := range agents {
		f.Report(state.Event{
			Seq: i + 1, Time: nine, Agent: fmt.Sprintf("main_work%d", i), State: "WORK.md",
			Body: &state.StateStarted{Kind: "prompt", Attempt: 1},
		})
	}
}

// TestLiveLinesCanBeTurnedOff checks that SetLive erases the live lines immediately when they are
// turned off, and draws them again when they are turned on.
func TestLiveLinesCanBeTurnedOff(t *testing.T) {
	var w writes
	f := newFanout(t)
	c := NewConsole(&w, f.Model, ConsoleOptions{Terminal: true})
	f.Add("console", c)
	startAgents(f, 2)
	f.Doing("main_work0", "WORK.md", runner.Progress{Activity: "running Bash(make \x1b[2J)"})
	f.Tick(nine.Add(time.Second))
	assert.Check(t, is.Equal(strings.Count(strings.Join(w, ""), `running Bash(make )`), 1), "live lines")
	must(t, c.SetLive(false))
	assert.Check(t, is.Equal(w[len(w)-1], "\r\x1b[2A\x1b[J"), "at once")
	before := len(w)
	must(t, c.SetLive(false))
	f.Tick(nine.Add(2 * time.Second))
	assert.Check(t, is.Equal(strings.Join(w[before:], ""), ""), "meanwhile")
	f.Tick(nine.Add(time.Minute))
	got := strings.Join(w[before:], "")
	assert.Check(t, strings.Count(got, ": working for ") == 2 && strings.Contains(got, "; running Bash(make )") && !strings.Contains(got, "\x1b"), "after a minute: got %q, want a whole line for each agent", got)
	must(t, c.SetLive(true))
	assert.Check(t, is.Equal(strings.Count(w[len(w)-1], "  "+string(markRunning)+"  "), 2), "afterwards")
}

// TestLiveLinesFitTheScreen checks that the number and the width of live lines are limited.
// Otherwise, a terminal could not erase them.
func TestLiveLinesFitTheScreen(t *testing.T) {
	var w writes
	f := newFanout(t)
	f.Add("console", NewConsole(&w, f.Model, ConsoleOptions{Terminal: true, Width: 40}))
	startAgents(f, 30)
	w = nil
	f.Tick(nine.Add(time.Minute))
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
