package checkpoint_test

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

var (
	unix    = checkpoint.MachineDirs{Workspace: "/home/runner/work/r/r", Temp: "/home/runner/work/_temp", OS: "linux"}
	windows = checkpoint.MachineDirs{Workspace: `D:\a\r\r`, Temp: `D:\a\_temp`, OS: "windows"}
	mac     = checkpoint.MachineDirs{Workspace: "/Users/me/w/", Temp: "/private/tmp", OS: "darwin"}
)

// TestRelocation checks how directories on one machine are mapped to directories on another.
func TestRelocation(t *testing.T) {
	inside := checkpoint.MachineDirs{Workspace: "/tmp/x/w", Temp: "/tmp", OS: "linux"}
	outside := checkpoint.MachineDirs{Workspace: "/w", Temp: "/w/.tmp", OS: "linux"}
	for _, tt := range []struct {
		old, here checkpoint.MachineDirs
		trees     []string
		dir, want string
	}{
		{unix, mac, nil, "/home/runner/work/r/r", "/Users/me/w"},
		{unix, mac, nil, "/home/runner/work/r/r/a/b", "/Users/me/w/a/b"},
		{unix, mac, nil, "/home/runner/work/r/r//a/./b/c/..", "/Users/me/w/a/b"},
		{unix, mac, nil, "/home/runner/work/r/r/../../etc", "/home/runner/work/r/r/../../etc"},
		{unix, mac, nil, "/home/runner/work/r/rest", "/home/runner/work/r/rest"},
		{unix, mac, nil, "/home/runner/work/_temp/raymond/job", "/private/tmp/raymond/job"},
		{unix, mac, nil, "/home/runner/work/R/r", "/home/runner/work/R/r"},
		{unix, mac, nil, "", ""},
		{unix, mac, nil, `/home/runner/work/r/r/a\b`, `/Users/me/w/a\b`},
		{unix, mac, []string{"/trees/one"}, "/trees/one", "/private/tmp/raymond-worktrees/one-483bab"},
		{unix, mac, []string{"/trees/one/"}, "/trees/one/a/b", "/private/tmp/raymond-worktrees/one-483bab/a/b"},
		{unix, mac, []string{"/trees/one", "/trees/one/two"}, "/trees/one/two/a", "/private/tmp/raymond-worktrees/two-610cd7/a"},
		{unix, mac, []string{"/home/runner/work/r/r/.trees/one"}, "/home/runner/work/r/r/.trees/one/a", "/Users/me/w/.trees/one/a"},
		{unix, mac, []string{"/home/runner"}, "/home/runner/work/r/r/a", "/Users/me/w/a"},
		{unix, windows, nil, "/home/runner/work/r/r/a/b", `D:\a\r\r\a\b`},
		{unix, windows, []string{"/trees/on:e"}, "/trees/on:e/a", `D:\a\_temp\raymond-worktrees\on-e-ed927d\a`},
		{windows, unix, nil, `D:\a\r\r\Src\b`, "/home/runner/work/r/r/Src/b"},
		{windows, unix, nil, `d:/A/r\R/Src`, "/home/runner/work/r/r/Src"},
		{windows, unix, nil, `D:\a\r\rest`, `D:\a\r\rest`},
		{windows, unix, []string{`\\host\share\T`}, `\\HOST\share\t\x`, "/home/runner/work/_temp/raymond-worktrees/T-bb94eb/x"},
		{inside, unix, nil, "/tmp/x/w/a", "/home/runner/work/r/r/a"},
		{outside, unix, nil, "/w/.tmp/a", "/home/runner/work/_temp/a"},
		{checkpoint.MachineDirs{}, unix, nil, "/w/a", "/w/a"},
		{checkpoint.MachineDirs{Workspace: "/", OS: "linux"}, unix, nil, "/a", "/home/runner/work/r/r/a"},
	} {
		assert.Check(t, is.Equal(checkpoint.Relocation(tt.old, tt.here, tt.trees)(tt.dir), tt.want), "%q with trees %q, from %s to %s", tt.dir, tt.trees, tt.old.Workspace, tt.here.Workspace)
	}
}
