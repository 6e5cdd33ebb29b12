package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// tree returns the files below dir, with their contents, as one text.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	must(t, err)
	for _, f := range files {
		rel, err := filepath.Rel(dir, f)
		must(t, err)
		fmt.Fprintf(&b, "-- %s --\n%s", filepath.ToSlash(rel), content(t, f))
	}
	return b.String()
}

// TestDebugGolden shows the debug files of recorded runs.
func TestDebugGolden(t *testing.T) {
	for _, name := range []string{"forks", "failed", "resumed"} {
		dir := t.TempDir()
		d := NewDebug(dir)
		replayFile(t, name, d)
		must(t, d.Close())
		golden(t, name+".debug.txt", tree(t, dir))
	}
}

// TestDebugResultIsCompletedInSteps states that the file is written at once, in the folder
// that the runner made, and again when the transition is known.
func TestDebugResultIsCompletedInSteps(t *testing.T) {
	dir := t.TempDir()
	d := NewDebug(dir)
	about := func(body state.Body) state.Event {
		return state.Event{Time: nine, Agent: "main", State: "A.sh", Exec: 41, Body: body}
	}
	folder := runner.DebugFolder(dir, runner.DebugStep{N: 41, Agent: "main", State: "A.sh", Attempt: 3})
	must(t, os.Mkdir(folder, 0o700))
	report(t, d, about(&state.StateStarted{Kind: "script", Attempt: 1}))
	if got := tree(t, dir); got != "" {
		t.Errorf("files before the end of the state: %s", got)
	}
	killed := -1
	report(t, d, about(&state.StateFinished{Attempt: 3, ExitCode: &killed, Signal: "killed", Error: "killed"}))
	file := filepath.Join(folder, "result.json")
	got := content(t, file)
	for _, want := range []string{`"exit_code": -1`, `"signal": "killed"`, `"ok": false`, `"denied": []`} {
		if !strings.Contains(got, want) {
			t.Errorf("result.json has no %s:\n%s", want, got)
		}
	}
	if strings.Contains(got, "transition") {
		t.Errorf("result.json has a transition before it was told:\n%s", got)
	}
	report(t, d, about(&state.Transition{Tag: "goto", Target: "B.md", From: "A.sh"}))
	if got := content(t, file); !strings.Contains(got, `"target": "B.md"`) || !strings.Contains(got, `"signal": "killed"`) {
		t.Errorf("result.json after the transition:\n%s", got)
	}
}

// TestDebugFolder states that no name leads out of the debug folder.
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
		if got := filepath.ToSlash(runner.DebugFolder("/d", runner.DebugStep{N: c.seq, Agent: c.agent, State: c.state, Attempt: 2})); got != c.want {
			t.Errorf("folder of %d %q %q = %q, want %q", c.seq, c.agent, c.state, got, c.want)
		}
	}
}

// TestDebugFailureIsAnError states that a folder that can't be written to is an error.
func TestDebugFailureIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, nil)
	e := state.Event{Time: nine, Agent: "main", State: "A.md", Body: &state.StateFinished{OK: true}}
	if err := NewDebug(file).Report(e); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("report into a file in the place of a folder = %v, want an error with the path", err)
	}
}
