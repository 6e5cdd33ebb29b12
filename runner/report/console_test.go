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
	c := NewConsole(&out, NewLiveModel(), o)
	replayFile(t, name, &tickingReporter{to: c, every: tick})
	must(t, c.Close())
	return out.String()
}

// tickingReporter passes on events, and calls Tick at a fixed interval of the time in the events.
// It does not call Tick in pauses of more than ten minutes.
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

// advisedReporter passes on events. It calls Next after the end of a run that has not completed.
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

// replayFile adds the events of a recorded run to the reporter's model, and reports them.
func replayFile(t *testing.T, name string, to Reporter) {
	t.Helper()
	events, err := read(filepath.Join("testdata", name+".jsonl"))
	must(t, err)
	for _, e := range events {
		report(t, to, e)
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
