package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/state"
)

const runID = "demo-1a2b3c4d"

// someEvents returns n events whose texts have very different lengths.
func someEvents(n int) []state.Event {
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

// logContent returns the content of a log with the given events.
func logContent(t *testing.T, events []state.Event, workflowID string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range events {
		line, err := e.Line(workflowID)
		must(t, err)
		b.Write(line)
	}
	return b.Bytes()
}

func openTestLog(t *testing.T, path string) *EventLog {
	t.Helper()
	l, err := OpenEventLog(path, runID)
	assert.NilError(t, err, "open log %s", path)
	return l
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func reportAll(t *testing.T, l *EventLog, events []state.Event) {
	t.Helper()
	for _, e := range events {
		must(t, l.Report(e))
	}
	must(t, l.Close())
}

// TestLogSurvivesCrashAnywhere cuts a log off at each byte of its last two lines, as a crash may
// do. It then reports the last two events again, and checks that the log contains each event once.
func TestLogSurvivesCrashAnywhere(t *testing.T) {
	t.Parallel()
	before := logContent(t, someEvents(3), "other-00000000")
	for _, events := range [][]state.Event{someEvents(2), someEvents(28)} {
		n := len(events)
		whole := append(bytes.Clone(before), logContent(t, events, runID)...)
		from := len(whole) - len(logContent(t, events[n-2:], runID))
		step := max(1, (len(whole)-from)/100) // in long lines, only about a hundred places are tried
		path := filepath.Join(t.TempDir(), "events.jsonl")
		for at := from; at <= len(whole); at++ {
			if near := at-from < 30 || len(whole)-at < 30; !near && (at-from)%step != 0 {
				continue
			}
			writeFile(t, path, whole[:at])
			l := openTestLog(t, path)
			last := l.LastSeq()
			assert.Assert(t, last >= n-2 && last <= n, "%d events cut at byte %d: last seq %d", n, at, last)
			reportAll(t, l, events[n-2:])
			assert.Equal(t, readFile(t, path), string(whole), "%d events cut at byte %d", n, at)
		}
	}
}

// TestEventLogIsPrivate checks that only the owner may access the log and the folder that contains
// it.
func TestEventLogIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "events.jsonl")
	l := openTestLog(t, path)
	must(t, l.Sync())
	reportAll(t, l, someEvents(2))
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		info, err := os.Stat(p)
		assert.Check(t, err == nil && info.Mode() == want, "mode of %s = %v, %v, want %s", p, info.Mode(), err, want)
	}
}

// TestOpenKeepsExistingContent checks how OpenEventLog changes the end of a file. The rest of the
// file must stay unchanged.
func TestOpenKeepsExistingContent(t *testing.T) {
	one, two := string(logContent(t, someEvents(1), runID)), string(logContent(t, someEvents(2), runID))
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
			one + string(logContent(t, []state.Event{{Seq: 9, Time: nine, Body: &state.AgentOutput{Text: runID}}}, "x-1")),
			one + string(logContent(t, []state.Event{{Seq: 9, Time: nine, Body: &state.AgentOutput{Text: runID}}}, "x-1")), 1,
		},
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		writeFile(t, path, []byte(c.before))
		l := openTestLog(t, path)
		assert.Check(t, is.Equal(readFile(t, path), c.after), "%s: after open of %q", name, c.before)
		assert.Check(t, is.Equal(l.LastSeq(), c.last), "%s: last seq in %q", name, c.before)
		assert.Check(t, l.Close())
	}
}

// TestCopyIsComplete checks that CopyFrom and Report together write each event of the run once,
// independent of how many events the log contains before. Events of other runs are not copied. The
// log that is copied contains lines that are not events, which a crash of the machine may leave.
func TestCopyIsComplete(t *testing.T) {
	events := someEvents(9)
	kept := filepath.Join(t.TempDir(), "kept.jsonl")
	other := logContent(t, someEvents(4), "other-00000000")
	writeFile(t, kept, slices.Concat([]byte("\x00\x00\n{\"time\"\n"), logContent(t, events[:8], runID), []byte("{\"time\":\"torn")))
	for has := range 9 {
		path := filepath.Join(t.TempDir(), "copy.jsonl")
		before := append(bytes.Clone(other), logContent(t, events[:has], runID)...)
		writeFile(t, path, before)
		l := openTestLog(t, path)
		must(t, errors.Join(l.CopyFrom(kept+".none"), l.CopyFrom(kept)))
		reportAll(t, l, events[6:])
		assert.Check(t, is.Equal(readFile(t, path), string(other)+string(logContent(t, events, runID))), "copy that had %d events", has)
	}
}

// TestCopyOfItself checks that a log does not get its events twice if it is copied to itself by way
// of a link.
func TestCopyOfItself(t *testing.T) {
	dir := t.TempDir()
	kept, link := filepath.Join(dir, "kept.jsonl"), filepath.Join(dir, "link.jsonl")
	events := someEvents(4)
	reportAll(t, openTestLog(t, kept), events[:2])
	must(t, os.Symlink(kept, link))
	a, b := openTestLog(t, kept), openTestLog(t, link)
	must(t, b.CopyFrom(kept))
	for _, e := range events[2:] {
		must(t, errors.Join(a.Report(e), b.Report(e)))
	}
	assert.Check(t, is.Equal(readFile(t, kept), string(logContent(t, events, runID))), "log that is its own copy")
}

// TestLogToPipe checks that a log can be a pipe, from which the written events can't be read back.
func TestLogToPipe(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	path := fmt.Sprintf("/dev/fd/%d", w.Fd())
	l := openTestLog(t, path)
	reportAll(t, l, someEvents(3))
	must(t, w.Close())
	var got bytes.Buffer
	_, err = got.ReadFrom(r)
	assert.NilError(t, err)
	assert.Check(t, is.Equal(got.String(), string(logContent(t, someEvents(3), runID))), "pipe")
}

// fullDisk is a writer that writes only 30 bytes and then returns an error.
type fullDisk struct{ bytes.Buffer }

func (f *fullDisk) Write(p []byte) (int, error) {
	f.Buffer.Write(p[:min(len(p), 30)])
	return min(len(p), 30), errors.New("no space left")
}

// TestNoWritesAfterTornLine checks that a log writes nothing more after a write has failed.
func TestNoWritesAfterTornLine(t *testing.T) {
	var w fullDisk
	l := NewEventLog(&w, runID, 0)
	for _, e := range someEvents(3) {
		assert.Check(t, is.ErrorContains(l.Report(e), "no space left"), "report of event %d to a full disk", e.Seq)
	}
	assert.Check(t, w.Len() == 30, "the full disk has %q, want the 30 bytes of the first write", w.String())
}

// TestSparseLogsAreRejected checks that reading a log of terabytes fails without using much memory.
// An agent may create a log of this size as a sparse file.
func TestSparseLogsAreRejected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	assert.NilError(t, os.WriteFile(path, nil, 0o600))
	assert.NilError(t, os.Truncate(path, 8<<40), "the file system of the temporary folder has no files of that size; name another one by TMPDIR")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if l, err := OpenEventLog(path, runID); err == nil || !strings.Contains(err.Error(), "a line of more than") {
		t.Errorf("OpenEventLog: got %v, %v", l, err)
	}
	assert.Check(t, NewEventLog(os.Stderr, runID, 0).CopyFrom(path) != nil, "CopyFrom: got no error")
	_, err := read(path)
	assert.Check(t, err != nil, "Events: got no error")
	runtime.ReadMemStats(&after)
	got := (after.TotalAlloc - before.TotalAlloc) >> 20
	assert.Check(t, got <= 1024, "all together allocated %d MiB", got)
}

// TestEventsOfManyValuesAreRejected checks that a line with very many JSON values is rejected.
// Decoding it would need many times the memory that the line needs.
func TestEventsOfManyValuesAreRejected(t *testing.T) {
	line := `{"type":"run_finished","a":[` + strings.Repeat("{},", jsonstrict.MaxValues) + "{}]}\n"
	path := filepath.Join(t.TempDir(), "events.jsonl")
	must(t, os.WriteFile(path, []byte(line), 0o600))
	_, err := read(path)
	assert.Check(t, err != nil && strings.Contains(err.Error(), jsonstrict.ErrTooMuch.Error()), "got %v, want %v", err, jsonstrict.ErrTooMuch)
}
