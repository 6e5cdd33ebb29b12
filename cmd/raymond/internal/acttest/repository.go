package acttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/raymond-action/raymond-action/cmd/shim"
)

// Origin is where the repositories of Repository say that they come from.
const Origin = "https://github.com/acme/consumer"

// Repository makes a git repository of the files of a txtar archive, with one
// commit on the branch main.
func Repository(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	git(t, dir, "remote", "add", "origin", Origin)
	Commit(t, dir, archive)
	return dir
}

// Commit writes the files of a txtar archive into a repository and commits all
// that has changed there.
func Commit(t testing.TB, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o755); err != nil {
			t.Fatal(err)
		}
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
	copyFile(t, filepath.Join(Root(t), "action.yml"), filepath.Join(dir, "action.yml"))
	if err := os.CopyFS(filepath.Join(dir, "cmd", "shim"), shim.Files); err != nil {
		t.Fatal(err)
	}
	name := "raymond-" + runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	shipped := filepath.Join(dir, "cmd", "shim", "bin", name)
	if err := os.Mkdir(filepath.Dir(shipped), 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, program, shipped)
	if err := os.Chmod(shipped, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
