package sitetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/shim"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// Repository creates a git repository with the files of a txtar archive in one commit on main.
func Repository(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	Git(t, dir, "init", "--quiet", "--initial-branch=main", "--template=") // no templates: each job copies the whole repository
	Git(t, dir, "remote", "add", "origin", "https://github.com/o/r")
	Commit(t, dir, archive)
	return dir
}

// Commit writes the files of a txtar archive into a repository and commits all changes.
func Commit(t testing.TB, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		installtest.WriteProgram(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	Git(t, dir, "add", "--all", "--force")
	Git(t, dir, "-c", "maintenance.auto=false", "commit", "--quiet", "--allow-empty", "--message", "files of the test")
}

// Git runs git in a folder without system and user configuration, and returns its output.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	assert.NilError(t, err, "git %q:\n%s", args, out)
	return strings.TrimSpace(string(out))
}

// Release installs the action in a folder as a release does: action.yml, the shim, and the program
// for this machine. It returns the path of the program.
func Release(t testing.TB, action string) (program string) {
	t.Helper()
	shipped := filepath.Join(action, "cmd", "shim")
	assert.NilError(t, os.CopyFS(shipped, shim.Files))
	installtest.WriteProgram(t, filepath.Join(action, "action.yml"), Read(t, "../../../../action.yml"))
	program = filepath.Join(shipped, "bin", "raymond-"+runtime.GOOS+"-"+runtime.GOARCH)
	installtest.WriteProgram(t, program, Read(t, Raymond.Path(t)))
	return program
}
