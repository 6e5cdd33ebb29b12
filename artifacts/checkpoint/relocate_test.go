package checkpoint_test

import (
	"path"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

var (
	unix    = checkpoint.Places{Workspace: "/home/runner/work/r/r", Temp: "/home/runner/work/_temp", OS: "linux"}
	windows = checkpoint.Places{Workspace: `D:\a\r\r`, Temp: `D:\a\_temp`, OS: "windows"}
	mac     = checkpoint.Places{Workspace: "/Users/me/w/", Temp: "/private/tmp", OS: "darwin"}
)

// TestRelocation: where directories of one machine lie on another.
func TestRelocation(t *testing.T) {
	inside := checkpoint.Places{Workspace: "/tmp/x/w", Temp: "/tmp", OS: "linux"}
	outside := checkpoint.Places{Workspace: "/w", Temp: "/w/.tmp", OS: "linux"}
	for _, tt := range []struct {
		old, here checkpoint.Places
		trees     []string
		dir, want string
	}{
		{unix, mac, nil, "/home/runner/work/r/r", "/Users/me/w/"},
		{unix, mac, nil, "/home/runner/work/r/r/", "/Users/me/w/"},
		{unix, mac, nil, "/home/runner/work/r/r/a/b", "/Users/me/w/a/b"},
		{unix, mac, nil, "/home/runner/work/r/r//a/./b/c/..", "/Users/me/w/a/b"},
		{unix, mac, nil, "/home/runner/work/r/r/../../etc", "/home/runner/work/r/r/../../etc"},
		{unix, mac, nil, "/home/runner/work/r/rest", "/home/runner/work/r/rest"},
		{unix, mac, nil, "/home/runner/work/_temp/raymond/job", "/private/tmp/raymond/job"},
		{unix, mac, nil, "/home/runner/work/R/r", "/home/runner/work/R/r"},
		{unix, mac, nil, "relative", "relative"},
		{unix, mac, nil, "", ""},
		{unix, mac, nil, "/", "/"},
		{unix, mac, nil, `/home/runner/work/r/r/a\b`, `/Users/me/w/a\b`},
		{unix, mac, []string{"/trees/one"}, "/trees/one", "/private/tmp/raymond-worktrees/one-483bab"},
		{unix, mac, []string{"/trees/one/"}, "/trees/one/a/b", "/private/tmp/raymond-worktrees/one-483bab/a/b"},
		{unix, mac, []string{"/trees/one", "/trees/one/two"}, "/trees/one/two/a", "/private/tmp/raymond-worktrees/two-610cd7/a"},
		{unix, mac, []string{"/trees/one"}, "/trees/oneself", "/trees/oneself"},
		{unix, mac, []string{"/home/runner/work/r/r/.trees/one"}, "/home/runner/work/r/r/.trees/one/a", "/Users/me/w/.trees/one/a"},
		{unix, mac, []string{"/home/runner/work/_temp/one"}, "/home/runner/work/_temp/one/a", "/private/tmp/one/a"},
		{unix, mac, []string{"/home/runner"}, "/home/runner/work/r/r/a", "/Users/me/w/a"},
		{unix, windows, nil, "/home/runner/work/r/r/a/b", `D:\a\r\r\a\b`},
		{unix, windows, []string{"/trees/on:e"}, "/trees/on:e/a", `D:\a\_temp\raymond-worktrees\on-e-ed927d\a`},
		{windows, unix, nil, `D:\a\r\r\Src\b`, "/home/runner/work/r/r/Src/b"},
		{windows, unix, nil, `d:/A/r\R/Src`, "/home/runner/work/r/r/Src"},
		{windows, unix, nil, `D:\a\r\rest`, `D:\a\r\rest`},
		{windows, windows, nil, `E:\a\r\r`, `E:\a\r\r`},
		{windows, unix, []string{`\\host\share\T`}, `\\HOST\share\t\x`, "/home/runner/work/_temp/raymond-worktrees/T-23ea73/x"},
		{inside, unix, nil, "/tmp/x/w/a", "/home/runner/work/r/r/a"},
		{inside, unix, nil, "/tmp/x/a", "/home/runner/work/_temp/x/a"},
		{outside, unix, nil, "/w/.tmp/a", "/home/runner/work/_temp/a"},
		{outside, unix, nil, "/w/a", "/home/runner/work/r/r/a"},
		{checkpoint.Places{}, unix, nil, "/w/a", "/w/a"},
		{checkpoint.Places{Workspace: "/", OS: "linux"}, unix, nil, "/a", "/home/runner/work/r/r/a"},
	} {
		if got := checkpoint.Relocation(tt.old, tt.here, tt.trees)(tt.dir); got != tt.want {
			t.Errorf("%q with trees %q, from %s to %s: got %q, want %q", tt.dir, tt.trees, tt.old.Workspace, tt.here.Workspace, got, tt.want)
		}
	}
}

// FuzzRelocation: what moves lands in the folders of the new machine, two
// directories never in one, one inside another stays there, and the way back leads
// back.
func FuzzRelocation(f *testing.F) {
	f.Add("a/b", "c", uint8(0))
	f.Add("../x", ".", uint8(1))
	f.Add("a//b/", `c\d`, uint8(2))
	f.Add("", "r", uint8(3))
	f.Fuzz(func(t *testing.T, one, two string, which uint8) {
		if strings.ContainsRune(one+two, 0) {
			return
		}
		tree := "/trees/one"
		tops := []string{unix.Workspace, unix.Temp, tree, "/elsewhere"}
		top := tops[int(which)%len(tops)]
		dir, below := path.Clean(top+"/"+one), path.Clean(top+"/"+one+"/"+two)
		move := checkpoint.Relocation(unix, mac, []string{tree})
		moved := move(dir)
		landed := within(moved, "/Users/me/w") || within(moved, "/private/tmp")
		from := within(dir, unix.Workspace) || within(dir, unix.Temp) || within(dir, tree)
		if from != landed && !within(dir, "/Users/me/w") && !within(dir, "/private/tmp") {
			t.Errorf("%q: got %q", dir, moved)
		}
		if !from && moved != dir {
			t.Errorf("%q of no folder that moves: got %q", dir, moved)
		}
		if got := move(below); from && within(below, dir) != within(got, moved) {
			t.Errorf("%q and %q: got %q and %q", dir, below, moved, got)
		}
		if again := checkpoint.Relocation(mac, unix, nil)(moved); from && !within(dir, tree) && again != dir {
			t.Errorf("%q there and back: got %q by way of %q", dir, again, moved)
		}
		if same := checkpoint.Relocation(unix, unix, nil)(dir); same != dir {
			t.Errorf("%q from a machine to itself: got %q", dir, same)
		}
	})
}

// within reports whether a clean path is a folder or in it.
func within(p, folder string) bool {
	p, folder = path.Clean(p), path.Clean(folder)
	return p == folder || strings.HasPrefix(p, folder+"/")
}
