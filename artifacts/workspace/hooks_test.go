package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// trap changes the settings of a repository so that every hook, filter and program that git can run writes
// to the file mark. dir is the repository's git directory.
func trap(t *testing.T, root, dir string) (mark string) {
	t.Helper()
	mark, program := filepath.Join(root, "mark"), filepath.Join(root, "program")
	installtest.WriteProgram(t, program, "#!/bin/sh\necho \"$* from: $(cat /proc/$PPID/cmdline | tr '\\0' ' ')\" >> '"+mark+"'\ncat\n")
	hooks := filepath.Join(dir, "hooks")
	os.MkdirAll(hooks, 0o777)
	for _, name := range []string{
		"post-checkout", "pre-commit", "post-commit", "post-index-change", "reference-transaction", "fsmonitor-watchman",
		"post-merge", "post-rewrite", "pre-auto-gc", "post-update", "update", "pre-receive", "post-receive", "proc-receive",
	} {
		os.Symlink(program, filepath.Join(hooks, name))
	}
	config := read(t, dir, "config")
	set := func(setting, value string) {
		section, rest, _ := strings.Cut(setting, ".")
		if last := strings.LastIndex(rest, "."); last >= 0 {
			section, rest = fmt.Sprintf("%s %q", section, rest[:last]), rest[last+1:]
		}
		config += fmt.Sprintf("[%s]\n\t%s = %s\n", section, rest, value)
	}
	for _, setting := range []string{
		"core.fsmonitor", "core.sshCommand", "core.askPass", "core.editor", "core.pager", "core.alternateRefsCommand",
		"credential.helper", "gpg.program", "diff.external", "diff.odd.textconv", "diff.odd.command", "merge.odd.driver",
		"filter.odd.clean", "filter.odd.smudge", "filter.with.dots.process", "filter.with.dots.clean", "uploadpack.packObjectsHook",
		"sequence.editor", "interactive.diffFilter", "core.gitProxy",
	} {
		set(setting, program)
	}
	for setting, value := range map[string]string{
		"core.hooksPath": hooks, "commit.gpgSign": "true", "filter.odd.required": "true", "filter.with.dots.required": "true",
		"core.fsmonitorHookVersion": "1", "gc.auto": "1", "core.untrackedCache": "true", "submodule.recurse": "true",
	} {
		set(setting, value)
	}
	write(t, dir, "config", config)
	write(t, dir, "info/attributes", "* filter=odd diff=odd merge=odd\n*.dots filter=with.dots\n")
	return mark
}

// TestGitRunsNoProgramsOfTheRepository saves and restores repositories that trap has changed. It checks
// that git doesn't run their programs.
func TestGitRunsNoProgramsOfTheRepository(t *testing.T) {
	remote := sharedRemote(t)
	old, here := clone(t, remote, "--depth=1"), clone(t, remote, "--depth=1")
	dir, base := old.checkout(), head(t, old.checkout())
	beside := filepath.Join(old.root, "beside")
	sh(t, dir, `git worktree add -q -b side ../beside; echo committed | tee a > x.dots; git add -A; git commit -q -m x
		echo staged > dir/b; git add -A; echo unstaged | tee crlf > x.dots; echo beside > ../beside/a`)
	want := pictureOf(t, dir)
	marks := []string{trap(t, old.root, filepath.Join(dir, ".git")), trap(t, here.root, filepath.Join(here.checkout(), ".git"))}
	later := time.Now().Add(time.Second)
	os.Chtimes(filepath.Join(dir, "run.sh"), later, later) // makes git read the file
	for range 2 {
		moveTo(t, old, here, base, dir, beside)
	}
	for _, mark := range marks {
		ran, err := os.ReadFile(mark)
		assert.Check(t, err != nil, "got programs of the repository\n%swant none", ran)
	}
	for name, content := range want.Files {
		assert.Check(t, is.Equal(files(t, here.checkout())[name], content), "file %q", name)
	}
}

// TestInvalidSettingsAreIgnored checks that a save succeeds in spite of a setting with an invalid value,
// with which git itself fails.
func TestInvalidSettingsAreIgnored(t *testing.T) {
	for _, setting := range []string{"autocrlf", "filemode", "eol", "checkstat"} {
		_, dir, base := checkout(t)
		write(t, dir, "a", "changed\n")
		write(t, dir, ".git/config", read(t, dir, ".git/config")+"[core]\n\t"+setting+" = nonsense\n")
		_, err := (&workspace.Git{}).Save(t.Context(), workspace.SaveRequest{Dirs: []string{dir}, Base: base, To: t.TempDir()})
		assert.Check(t, err, "save with core.%s = nonsense", setting)
	}
}
