package report

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// readers are the console options for which there are golden files.
var readers = map[string]ConsoleOptions{
	"plain":    {},
	"quiet":    {Quiet: true, Terminal: true, Width: 160},
	"verbose":  {Verbose: true},
	"terminal": {Terminal: true, Color: true, Width: 72},
}

// TestConsoleGolden compares the console output of recorded runs with golden files, in which ^[ is
// the escape character.
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

// console returns the output of a Console for a recorded run, with ticks at the given interval.
func console(t *testing.T, name string, o ConsoleOptions, tick time.Duration) string {
	t.Helper()
	var out bytes.Buffer
	c := NewConsole(&out, NewLiveModel(), o)
	replayFile(t, name, &tickingReporter{to: c, every: tick})
	must(t, c.Close())
	return out.String()
}

// tickingReporter calls Tick between the events at a fixed interval. Pauses of more than ten
// minutes are skipped.
type tickingReporter struct {
	to interface {
		Reporter
		Tick(time.Time) error
	}
	every time.Duration
	next  time.Time
}

func (c *tickingReporter) Report(e state.Event) error {
	if c.next.IsZero() || e.Time.Sub(c.next) > 10*time.Minute {
		c.next = e.Time
	}
	for ; c.next.Before(e.Time); c.next = c.next.Add(c.every) {
		if err := c.to.Tick(c.next); err != nil {
			return err
		}
	}
	inModel(c.to, e)
	return c.to.Report(e)
}

func (c *tickingReporter) Close() error { return nil }

func (c *tickingReporter) Next(s string) error { return c.to.(interface{ Next(string) error }).Next(s) }

// advisedReporter passes on events, and calls Next at the end of a run that is not completed.
type advisedReporter struct {
	Reporter
	text string
}

func (a advisedReporter) Report(e state.Event) error {
	err := a.Reporter.Report(e)
	if b, ok := e.Body.(*state.RunFinished); ok && err == nil && b.Status != state.Completed {
		err = a.Reporter.(interface{ Next(string) error }).Next(a.text)
	}
	return err
}

// replayFile reports the events of a recorded run.
func replayFile(t *testing.T, name string, to Reporter) {
	t.Helper()
	events, err := read(filepath.Join("testdata", name+".jsonl"))
	must(t, err)
	for _, e := range events {
		report(t, to, e)
	}
}

// goldenFile compares a text with a golden file.
func goldenFile(t *testing.T, file, got string) {
	t.Helper()
	assert.Check(t, golden.String(got, file))
}

// TestConsoleShowsOutput states that a script's output is shown line by line, and in quiet mode
// only if the script fails, before the failure.
func TestConsoleShowsOutput(t *testing.T) {
	for name, c := range map[string]struct {
		quiet bool
		want  []string
	}{
		"usual": {false, []string{"fine", "FAIL: one", "it ends", "exit code 1"}},
		"quiet": {true, []string{"it ends", "FAIL: one", "exit code 1"}},
	} {
		var out bytes.Buffer
		console := NewConsole(&out, NewLiveModel(), ConsoleOptions{Quiet: c.quiet})
		script := func(says string, end *state.StateFinished) {
			report(t, console, state.Event{Agent: "main", State: "A.sh", Body: &state.StateStarted{Kind: "script", Attempt: 1}})
			must(t, console.Doing("main", "A.sh", runner.Progress{Text: says}))
			if end.Error != "" {
				out.WriteString("it ends\n")
			}
			report(t, console, state.Event{Agent: "main", State: "A.sh", Body: end})
		}
		script("fine", &state.StateFinished{OK: true})
		script("FAIL: \x1b[31mone", &state.StateFinished{Error: "exit code 1"})
		closed(t, console)
		shown := regexp.MustCompile("fine|FAIL: one|it ends|exit code 1").FindAllString(out.String(), -1)
		assert.Check(t, slices.Equal(shown, c.want), "%s: got %q, want %q, in\n%s", name, shown, c.want, &out)
	}
}
