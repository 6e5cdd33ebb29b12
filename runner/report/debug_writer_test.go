package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
)

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
		d := NewDebugWriter(dir, NewLiveModel())
		replayFile(t, name, d)
		must(t, d.Close())
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
