//go:build unix

package workspace_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestGitIsShownNoSettings of the machine and of the user, whoever has written them, and
// runs no hooks, not even in repositories that were made here.
func TestGitIsShownNoSettings(t *testing.T) {
	old, here := clone(t, newRemote(t)), clone(t, newRemote(t))
	write(t, old.checkout(), "a", "changed\n")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	program(t, filepath.Join(root, "git"), "#!/bin/sh\nenv | sort >>"+root+"/seen; echo end of git >>"+root+"/seen\nexec "+git+" \"$@\"\n")
	g, to := &workspace.Git{Path: filepath.Join(root, "git"), Env: homeWith(t, ""), IsFree: true}, t.TempDir()
	save(t, g, workspace.Saving{Dirs: []string{old.checkout()}, Base: head(t, old.checkout()), To: to})
	_, _ = g.Restore(t.Context(), workspace.Restoring{From: to, Dir: relocated(old, here), TempRoot: t.TempDir()})
	starts := strings.Split(strings.TrimSuffix(read(t, root, "seen"), "end of git\n"), "end of git\n")
	if len(starts) < 10 {
		t.Errorf("starts of git: got %d, want at least 10", len(starts))
	}
	for _, env := range starts {
		for _, want := range []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=/dev/null", "XDG_CONFIG_HOME=/dev/null", "=core.hooksPath", "=core.fsmonitor"} {
			if !strings.Contains("\n"+env, want+"\n") {
				t.Errorf("environment of git: got no %s in\n%s", want, env)
			}
		}
	}
}

// TestSettingsThatGitRefusesAreNotKept: an agent can't keep work from being saved by a
// setting that git dies of.
func TestSettingsThatGitRefusesAreNotKept(t *testing.T) {
	for _, setting := range []string{"autocrlf", "filemode", "eol", "checkstat"} {
		s := clone(t, newRemote(t))
		base := head(t, s.checkout())
		write(t, s.checkout(), "a", "changed\n")
		write(t, s.checkout(), ".git/config", read(t, s.checkout(), ".git/config")+"[core]\n\t"+setting+" = nonsense\n")
		if _, err := (&workspace.Git{}).Save(t.Context(), workspace.Saving{Dirs: []string{s.checkout()}, Base: base, To: t.TempDir()}); err != nil {
			t.Errorf("save with core.%s = nonsense: got error %v, want none", setting, err)
		}
	}
}
