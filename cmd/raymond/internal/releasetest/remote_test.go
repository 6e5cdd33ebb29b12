package releasetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

const changelog = `# Changelog

## [Unreleased]

- not yet

## [1.2.0] - 2026-02-02

- the second

## [1.1.0] - 2026-01-01

## [1.0.0] - 2026-01-01

- the first
`

// remote is a repository as GitHub has it, and a checkout of its main branch
// with the scripts.
type remote struct {
	t    *testing.T
	bare string
	script
}

// newRemote has one commit: what an action needs, without programs.
func newRemote(t *testing.T) *remote {
	t.Helper()
	r := &remote{t: t, bare: filepath.Join(t.TempDir(), "remote.git"), script: script{root: filepath.Join(t.TempDir(), "checkout")}}
	var files []string
	for _, pattern := range []string{".ci/*", ".ci/smoke/*", "action.yml", "cmd/shim/*.js", "cmd/shim/package.json"} {
		files = append(files, glob(t, pattern)...)
	}
	copyFiles(t, acttest.Root(t), r.root, files...)
	r.write("CHANGELOG.md", changelog)
	// As in the repository: what is built by hand is not committed by mistake.
	r.write(".gitignore", "/raymond\nbin/\n")
	r.git("init", "--quiet", "--bare", "--initial-branch=main", r.bare)
	r.git("init", "--quiet", "--initial-branch=main")
	r.commit("first")
	return r
}

// glob returns the files of the repository that match, without folders.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	root := acttest.Root(t)
	paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
	if err != nil || len(paths) == 0 {
		t.Fatalf("files %s: got %q, %v, want some", pattern, paths, err)
	}
	var names []string
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			name, _ := filepath.Rel(root, p)
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names
}

func (r *remote) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// git runs git in the checkout.
func (r *remote) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=2026-01-02T00:00:00+02:00")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit pushes all files of the checkout to main, and returns the commit.
func (r *remote) commit(message string) string {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", message)
	r.git("push", "--quiet", r.bare, "HEAD:main")
	return r.git("rev-parse", "HEAD")
}

// release makes the tag of a version from programs that are none.
func (r *remote) release(version string) string {
	r.t.Helper()
	out := r.must(r.t, "release-tag", r.bare, version, r.commit("work before "+version), fakes(r.t, version))
	return strings.TrimSpace(out)
}

// at is the commit of a ref of the remote; "" when it has none.
func (r *remote) at(ref string) string {
	r.t.Helper()
	id, _, _ := strings.Cut(r.git("ls-remote", r.bare, ref), "\t")
	return id
}

// files are the files of a commit of the remote: mode and name.
func (r *remote) files(commit string) []string {
	r.t.Helper()
	return strings.Split(r.git("--git-dir", r.bare, "ls-tree", "-r", "--format=%(objectmode) %(path)", commit), "\n")
}

// meanwhile lets somebody else set a ref of the remote after a script has looked
// and before it pushes.
func (r *remote) meanwhile(ref, id string) {
	r.t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		r.t.Fatal(err)
	}
	other := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *' push '*) '%[1]s' --git-dir '%[2]s' update-ref %[3]s %[4]s;; esac\nexec '%[1]s' \"$@\"\n",
		git, r.bare, ref, id)
	r.fake(r.t, "git", other)
}

// fakes is a folder of a release whose programs hold only their name.
func fakes(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	for _, s := range systems {
		if err := os.WriteFile(filepath.Join(dir, program(s)), []byte(program(s)+" "+version), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sum(t, dir)
	return dir
}

// copyFiles copies files, or folders, with their paths. The cp command does it, for
// the reason that fake gives.
func copyFiles(t *testing.T, from, to string, names ...string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "cp", append([]string{"--parents", "-r", "-p", "-t", to}, names...)...)
	cmd.Dir = from
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
