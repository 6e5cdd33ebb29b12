package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// probe is a reporter that records its calls. The call with the number in the field fails returns an
// error. The first call has number 1.
type probe struct {
	name  string
	calls *[]string
	fails int
	n     int
}

func (p *probe) call(what string) error {
	*p.calls = append(*p.calls, p.name+" "+what)
	if p.n++; p.n == p.fails {
		return errors.New("broken")
	}
	return nil
}

func (p *probe) Report(e state.Event) error { return p.call(fmt.Sprint(e.Seq)) }

func (p *probe) Close() error { return p.call("close") }

func (p *probe) Tick(time.Time) error { return p.call("tick") }

// TestFanout checks that reporters are called in order, and that only reporters with a method Tick
// get ticks. A reporter that fails causes one warning and is not called again.
func TestFanout(t *testing.T) {
	var calls []string
	f := NewFanout(func(name string, err error) { calls = append(calls, "warning "+name+": "+err.Error()) })
	f.Add("a", struct{ Reporter }{&probe{name: "a", calls: &calls}})
	f.Add("b", struct{ Reporter }{&probe{name: "b", calls: &calls, fails: 2}})
	f.Add("c", &probe{name: "c", calls: &calls, fails: 4})
	f.Report(state.Event{Seq: 1})
	f.Tick(nine)
	f.Report(state.Event{Seq: 2})
	f.Report(state.Event{Seq: 3})
	f.Tick(nine)
	f.Close()
	want := []string{
		"a 1", "b 1", "c 1", "c tick", "a 2", "b 2", "warning b: broken", "c 2", "a 3", "c 3", "warning c: broken", "a close",
	}
	assert.Check(t, is.DeepEqual(calls, want), "calls")
}

// read returns the events in a log up to the first error, and that error.
func read(path string) (all []state.Event, err error) {
	for e, err := range Events(path) {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

// TestEventsOfDamagedLogs checks how Events handles lines that are not events.
func TestEventsOfDamagedLogs(t *testing.T) {
	one := string(logContent(t, someEvents(1), runID))
	for name, c := range map[string]struct {
		log    string
		events int
		fault  string
	}{
		"empty":        {"", 0, ""},
		"torn":         {one + one[:30], 1, ""},
		"empty lines":  {"\n" + one + "\n\n" + one, 2, ""},
		"corrupt":      {one + "{\n" + one, 1, "line 2: "},
		"unknown type": {`{"seq":3,"time":"2026-03-01T09:00:00.000Z","type":"party"}` + "\n", 0, `line 1: event 3: unknown type "party"`},
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		must(t, os.WriteFile(path, []byte(c.log), 0o600))
		got, err := read(path)
		if len(got) != c.events || (err == nil) != (c.fault == "") || (err != nil && !strings.HasPrefix(err.Error(), path+": "+c.fault)) {
			t.Errorf("%s: events of %q:\n got %d events, %v\nwant %d events, %s…", name, c.log, len(got), err, c.events, c.fault)
		}
	}
	got, err := read(filepath.Join(t.TempDir(), "none.jsonl"))
	assert.Check(t, len(got) == 0 && err == nil, "a log that is missing: got %d events, %v, want none", len(got), err)
}

// tree returns the names and the contents of the files in the subdirectories of dir as one text.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	must(t, err)
	for _, f := range files {
		rel, err := filepath.Rel(dir, f)
		must(t, err)
		fmt.Fprintf(&b, "-- %s --\n%s", filepath.ToSlash(rel), readFile(t, f))
	}
	return b.String()
}

// TestDebugGolden compares the debug files for recorded runs with golden files.
func TestDebugGolden(t *testing.T) {
	for _, name := range []string{"forks", "failed", "resumed"} {
		dir := t.TempDir()
		f := newFanout(t)
		f.Add("debug", NewDebugWriter(dir, f.Model))
		replayFile(t, name, f, 0, "")
		f.Close()
		goldenFile(t, name+".debug.txt", tree(t, dir))
	}
}

// TestDebugFolder checks that the path of an attempt's debug folder is always inside the debug
// folder, whatever the names of the agent and the state are.
func TestDebugFolder(t *testing.T) {
	for _, c := range []struct {
		seq          int
		agent, state string
		want         string
	}{
		{7, "main", "START.md", "/d/0007_main_START.md_2"},
		{12345, "main_work1", "v1.2.sh", "/d/12345_main_work1_v1.2.sh_2"},
		{1, "../x", `..\y/../z`, "/d/0001_.._x_.._y_.._z_2"},
	} {
		assert.Check(t, is.Equal(filepath.ToSlash(runner.DebugFolder("/d", runner.DebugStep{N: c.seq, Agent: c.agent, State: c.state, Attempt: 2})), c.want), "folder of %d %q %q", c.seq, c.agent, c.state)
	}
}
