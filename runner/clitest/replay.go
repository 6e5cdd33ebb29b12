package clitest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/internal/goldentest"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// Recording is a recorded invocation of a CLI. Long recordings were shortened.
type Recording struct {
	Mode   state.SessionMode
	Stdout []byte
	Exit   proc.Exit // how the process ended, and its stderr
	// Before is the transcript before the invocation, and After contains the lines that the
	// invocation has appended to it. Both are empty if the transcript was not recorded.
	Before, After []byte
	// Beside contains the transcripts of subagents, by file name.
	Beside map[string][]byte
}

// Result is the data that a backend has read from a recording.
type Result struct {
	Answer   runner.Answer
	Failure  *runner.Failure
	Messages []runner.Message
}

// Replay calls the function play with each recording in testdata/stream and compares the result with
// the golden text in the recording's file. With -update, it writes the golden text instead. The file
// "how" in a recording contains the session mode and how the process ended.
func Replay(t *testing.T, play func(*testing.T, Recording) Result) {
	t.Helper()
	goldentest.Each(t, "testdata/stream/*.txtar", func(t *testing.T, files map[string]string) string {
		c := Recording{Stdout: []byte(files["stdout"]), Before: []byte(files["before"]), After: []byte(files["after"]), Beside: map[string][]byte{}}
		var ended string
		if _, err := fmt.Sscanf(strings.ReplaceAll(files["how"], "ended=\n", "ended=-\n"), "mode=%s code=%d ended=%s\n", &c.Mode, &c.Exit.Code, &ended); err != nil {
			t.Fatalf("how %q: %v", files["how"], err)
		}
		c.Exit.Ended, c.Exit.StderrTail = proc.EndReason(strings.Trim(ended, "-")), []byte(files["stderr"])
		for name, text := range files {
			if filepath.Ext(name) == ".jsonl" {
				c.Beside[name] = []byte(text)
			}
		}
		return describe(play(t, c))
	})
}

// describe returns a result as text, for the comparison with a golden text.
func describe(got Result) string {
	var b strings.Builder
	a := got.Answer
	if f := got.Failure; f != nil {
		fmt.Fprintf(&b, "failure %s: %s\n", f.Class, f.Message)
		if f.Continue {
			b.WriteString("can be continued\n")
		}
		if !f.Reset.IsZero() {
			fmt.Fprintf(&b, "until %s\n", f.Reset.UTC().Format("2006-01-02 15:04:05"))
		}
	}
	fmt.Fprintf(&b, "text %q\nsession %q model %q turns %d\n", a.Text, a.SessionID, a.Model, a.Turns)
	if a.CLIID != "" {
		fmt.Fprintf(&b, "session of the CLI %q\n", a.CLIID)
	}
	fmt.Fprintf(&b, "cost %s\n", CostText(a.Cost))
	for _, u := range a.Cost.Usage {
		fmt.Fprintf(&b, "  %s %s: in %d out %d write %d read %d\n", u.Model, u.CostUSD, u.Input, u.Output, u.CacheWrite, u.CacheRead)
	}
	for _, u := range a.Cost.Unreported {
		fmt.Fprintf(&b, "  beyond that %s: in %d out %d write %d read %d\n", u.Model, u.Input, u.Output, u.CacheWrite, u.CacheRead)
	}
	if a.Cost.Silent {
		b.WriteString("  nothing came from the model\n")
	}
	if r := a.Cost.RunningTotal; r.USD != 0 {
		fmt.Fprintf(&b, "  reached %s\n", r.USD)
	}
	for _, r := range a.Refusals {
		fmt.Fprintf(&b, "denied %s\n", r.Use)
		if r.Reason != "" {
			fmt.Fprintf(&b, "  since %s\n", r.Reason)
		}
		if len(r.Allow) > 0 {
			fmt.Fprintf(&b, "  allowed by %s\n", strings.Join(r.Allow, ", "))
		}
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "note %s\n", n)
	}
	for _, m := range got.Messages {
		fmt.Fprintf(&b, "%s %q tool %q %q subagent %q failed %v refused %v\n", m.From, m.Text, m.Tool, m.Input, m.Subagent, m.Failed, m.Refused)
	}
	return b.String()
}

// CostText returns the kind and the amount of an invocation's cost as text.
func CostText(c state.Cost) string {
	if c.Kind == "" {
		return "not told"
	}
	return fmt.Sprintf("%s %s", c.Kind, c.USD)
}
