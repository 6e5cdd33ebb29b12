package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

const runID = "demo-1a2b3c4d"

// some returns n events with texts of very different lengths.
func some(n int) []state.Event {
	var events []state.Event
	for i := range n {
		text := strings.Repeat("é\n", i*i*i%5000) + "ends"
		events = append(events, state.Event{
			Seq: i + 1, Time: nine.Add(time.Duration(i) * time.Millisecond), Agent: "main", State: "START.md",
			Body: &state.AgentOutput{Text: text},
		})
	}
	return events
}

// logged returns the log of the events.
func logged(t *testing.T, events []state.Event, workflowID string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range events {
		line, err := e.Line(workflowID)
		must(t, err)
		b.Write(line)
	}
	return b.Bytes()
}

func open(t *testing.T, path string) *EventLog {
	t.Helper()
	l, err := OpenEventLog(path, runID)
	assert.NilError(t, err, "open log %s", path)
	return l
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func tell(t *testing.T, l *EventLog, events []state.Event) {
	t.Helper()
	for _, e := range events {
		report(t, l, e)
	}
	must(t, l.Close())
}

// TestLogSurvivesCrashAnywhere states that a log that was cut off at any byte of its last
// two lines has each event once after it was given the events of the last save again.
func TestLogSurvivesCrashAnywhere(t *testing.T) {
	t.Parallel()
	before := logged(t, some(3), "other-00000000")
	for _, events := range [][]state.Event{some(2), some(28)} {
		n := len(events)
		whole := append(bytes.Clone(before), logged(t, events, runID)...)
		from := len(whole) - len(logged(t, events[n-2:], runID))
		step := max(1, (len(whole)-from)/100) // every byte but of long lines
		path := filepath.Join(t.TempDir(), "events.jsonl")
		for at := from; at <= len(whole); at++ {
			if near := at-from < 30 || len(whole)-at < 30; !near && (at-from)%step != 0 {
				continue
			}
			put(t, path, whole[:at])
			l := open(t, path)
			last := l.LastSeq()
			assert.Assert(t, last >= n-2 && last <= n, "%d events cut at byte %d: last seq %d", n, at, last)
			tell(t, l, events[n-2:])
			assert.Equal(t, content(t, path), string(whole), "%d events cut at byte %d", n, at)
		}
	}
}

// TestNobodyElseReadsALog: it and its folder are the owner's alone.
func TestNobodyElseReadsALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "events.jsonl")
	l := open(t, path)
	must(t, l.Sync())
	tell(t, l, some(2))
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		info, err := os.Stat(p)
		assert.Check(t, err == nil && info.Mode() == want, "mode of %s = %v, %v, want %s", p, info.Mode(), err, want)
	}
}

// TestLogKeepsWhatIsThere lists what OpenLog does with the end of a file.
func TestLogKeepsWhatIsThere(t *testing.T) {
	one, two := string(logged(t, some(1), runID)), string(logged(t, some(2), runID))
	bad := "{broken}\n"
	for name, c := range map[string]struct {
		before, after string
		last          int
	}{
		"empty":                      {"", "", 0},
		"zeros after a power cut":    {one + "\x00\x00\x00", one, 1},
		"only the line break lost":   {strings.TrimSuffix(two, "\n"), two, 2},
		"a note that is not ours":    {"my notes", "my notes\n", 0},
		"corrupt line in the middle": {one + bad + two[len(one):], one + bad + two[len(one):], 2},
		"id named by another run": {
			one + string(logged(t, []state.Event{{Seq: 9, Time: nine, Body: &state.AgentOutput{Text: runID}}}, "x-1")),
			one + string(logged(t, []state.Event{{Seq: 9, Time: nine, Body: &state.AgentOutput{Text: runID}}}, "x-1")), 1,
		},
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		put(t, path, []byte(c.before))
		l := open(t, path)
		assert.Check(t, is.Equal(content(t, path), c.after), "%s: after open of %q", name, c.before)
		assert.Check(t, is.Equal(l.LastSeq(), c.last), "%s: last seq in %q", name, c.before)
		assert.Check(t, l.Close())
	}
}

// TestCopyGetsComplete states that a copy gets every event of the kept log once, wherever
// the copy ended before, and no events of other runs. A crash of the machine may have left lines in the kept log that are no events.
func TestCopyGetsComplete(t *testing.T) {
	events := some(9)
	kept := filepath.Join(t.TempDir(), "kept.jsonl")
	other := logged(t, some(4), "other-00000000")
	put(t, kept, slices.Concat([]byte("\x00\x00\n{\"time\"\n"), logged(t, events[:8], runID), []byte("{\"time\":\"torn")))
	for has := range 9 {
		path := filepath.Join(t.TempDir(), "copy.jsonl")
		before := append(bytes.Clone(other), logged(t, events[:has], runID)...)
		put(t, path, before)
		l := open(t, path)
		must(t, errors.Join(l.CopyFrom(kept+".none"), l.CopyFrom(kept)))
		tell(t, l, events[6:])
		assert.Check(t, is.Equal(content(t, path), string(other)+string(logged(t, events, runID))), "copy that had %d events", has)
	}
}

// TestCopyOfItself states that a log that is asked to be a copy of itself does
// not get its events twice.
func TestCopyOfItself(t *testing.T) {
	dir := t.TempDir()
	kept, link := filepath.Join(dir, "kept.jsonl"), filepath.Join(dir, "link.jsonl")
	events := some(4)
	tell(t, open(t, kept), events[:2])
	must(t, os.Symlink(kept, link))
	a, b := open(t, kept), open(t, link)
	must(t, b.CopyFrom(kept))
	for _, e := range events[2:] {
		report(t, a, e)
		report(t, b, e)
	}
	assert.Check(t, is.Equal(content(t, kept), string(logged(t, events, runID))), "log that is its own copy")
}

// TestLogToPipe states that a log can be a pipe, which can't be read back.
func TestLogToPipe(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	path := fmt.Sprintf("/dev/fd/%d", w.Fd())
	l := open(t, path)
	tell(t, l, some(3))
	must(t, w.Close())
	var got bytes.Buffer
	_, err = got.ReadFrom(r)
	assert.NilError(t, err)
	assert.Check(t, is.Equal(got.String(), string(logged(t, some(3), runID))), "pipe")
}

// full is a disk with little space left.
type full struct{ bytes.Buffer }

func (f *full) Write(p []byte) (int, error) {
	f.Buffer.Write(p[:min(len(p), 30)])
	return min(len(p), 30), errors.New("no space left")
}

// TestNothingAfterTornLine states that after a write that went wrong nothing is
// put behind the torn line.
func TestNothingAfterTornLine(t *testing.T) {
	var w full
	l := NewEventLog(&w, runID, 0)
	for _, e := range some(3) {
		assert.Check(t, is.ErrorContains(l.Report(e), "no space left"), "report of event %d to a full disk", e.Seq)
	}
	assert.Check(t, w.Len() == 30, "the full disk has %q, want the 30 bytes of the first write", w.String())
}
