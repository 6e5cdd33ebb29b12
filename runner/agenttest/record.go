package agenttest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

var update = flag.Bool("update", false, "rewrite the wanted parts of testdata/stream")

// Case is an invocation of the CLI, shortened.
type Case struct {
	Mode   state.SessionMode
	Stdout []byte
	Exit   proc.Exit // with the stderr
	// Before and After are the file of the conversation, if it is recorded: as it was before
	// the invocation, and what came to it.
	Before, After []byte
	// Beside are the files of the conversations of other agents, by their names.
	Beside map[string][]byte
}

// Brought is what was read from a case.
type Brought struct {
	Answer   runner.Answer
	Failure  *runner.Failure
	Messages []runner.Message
}

// Replay compares what play reads from each recording in testdata/stream with what the
// recording wants. The second line of a file says how the process ended.
func Replay(t *testing.T, play func(*testing.T, Case) Brought) {
	t.Helper()
	files, err := filepath.Glob("testdata/stream/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("recordings: got %v, %v, want some", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { replay(t, file, play) })
	}
}

func replay(t *testing.T, file string, play func(*testing.T, Case) Brought) {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c Case
	var ended string
	_, how, _ := strings.Cut(string(ar.Comment), "\n")
	if _, err := fmt.Sscanf(strings.ReplaceAll(how, "ended=\n", "ended=-\n"), "mode=%s code=%d ended=%s\n", &c.Mode, &c.Exit.Code, &ended); err != nil {
		t.Fatalf("%s: %q: %v", file, how, err)
	}
	c.Exit.Ended = proc.End(strings.Trim(ended, "-"))
	c.Stdout, c.Exit.StderrTail, c.Before, c.After = part(ar, "stdout"), part(ar, "stderr"), part(ar, "before"), part(ar, "after")
	c.Beside = map[string][]byte{}
	for _, f := range ar.Files {
		if filepath.Ext(f.Name) == ".jsonl" {
			c.Beside[f.Name] = f.Data
		}
	}
	got := describe(play(t, c))
	if *update {
		ar.Files[len(ar.Files)-1].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(part(ar, "want")), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func part(ar *txtar.Archive, name string) []byte {
	for _, f := range ar.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// describe writes down everything an invocation brought.
func describe(got Brought) string {
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
	describeCost(&b, a.Cost)
	for i, d := range a.Denied {
		fmt.Fprintf(&b, "denied %s\n", d)
		if i < len(a.Refusals) && a.Refusals[i].Reason != "" {
			fmt.Fprintf(&b, "  since %s\n", a.Refusals[i].Reason)
		}
		if i < len(a.Refusals) && len(a.Refusals[i].Allow) > 0 {
			fmt.Fprintf(&b, "  allowed by %s\n", strings.Join(a.Refusals[i].Allow, ", "))
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

func describeCost(b *strings.Builder, c state.Cost) {
	fmt.Fprintf(b, "cost %s\n", CostText(c))
	for _, u := range c.Usage {
		fmt.Fprintf(b, "  %s %s: in %d out %d write %d read %d\n", u.Model, u.CostUSD, u.Input, u.Output, u.CacheWrite, u.CacheRead)
	}
	for _, u := range c.Beyond {
		fmt.Fprintf(b, "  beyond that %s: in %d out %d write %d read %d\n", u.Model, u.Input, u.Output, u.CacheWrite, u.CacheRead)
	}
	if c.Silent {
		b.WriteString("  nothing came from the model\n")
	}
	if r := c.Reached; r.USD != 0 {
		fmt.Fprintf(b, "  reached %s\n", r.USD)
	}
}

// CostText says what an invocation has cost in a few words.
func CostText(c state.Cost) string {
	if c.Kind == "" {
		return "not told"
	}
	return fmt.Sprintf("%s %s", c.Kind, c.USD)
}
