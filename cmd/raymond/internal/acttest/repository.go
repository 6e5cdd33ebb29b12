package acttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/shim"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// Origin is where the repositories of Repository say that they come from.
const Origin = "https://github.com/acme/consumer"

// Repository makes a git repository of the files of a txtar archive, with one
// commit on the branch main.
func Repository(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main", "--template=") // jobs copy all of it
	git(t, dir, "remote", "add", "origin", Origin)
	Commit(t, dir, archive)
	return dir
}

// Commit writes the files of a txtar archive into a repository and commits all
// that has changed there.
func Commit(t testing.TB, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		installtest.WriteProgram(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	git(t, dir, "add", "--all", "--force")
	git(t, dir, "-c", "maintenance.auto=false", "commit", "--quiet", "--allow-empty", "--message", "files of the test")
}

// git runs git with no configuration of the machine's.
func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// Release makes a folder of the action as a release tag has it: action.yml, the
// shim, and the given program for this machine.
func Release(t testing.TB, program string) string {
	t.Helper()
	dir := t.TempDir()
	action, err := os.ReadFile(filepath.Join(Root(t), "action.yml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "action.yml"), action, 0o644)
	}
	assert.NilError(t, err)
	assert.NilError(t, os.CopyFS(filepath.Join(dir, "cmd", "shim"), shim.Files))
	name := "raymond-" + runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	shipped := filepath.Join(dir, "cmd", "shim", "bin", name)
	data, err := os.ReadFile(program)
	assert.NilError(t, err)
	installtest.WriteProgram(t, shipped, string(data))
	return dir
}

// Root returns the folder of this repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	assert.NilError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, ".github", "tools")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the test runs outside the repository")
		}
		dir = filepath.Dir(dir)
	}
}
