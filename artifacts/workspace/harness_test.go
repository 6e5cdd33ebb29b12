package workspace_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestMain removes the user's git settings from the environment before the tests, and deletes the directories
// that tests share after them.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "workspace-home-")
	if err != nil {
		panic(err)
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") {
			os.Unsetenv(name)
		}
	}
	shelf = filepath.Join(home, "shelf")
	if err := errors.Join(os.Mkdir(shelf, 0o777), os.Mkdir(filepath.Join(home, "empty"), 0o777)); err != nil {
		panic(err)
	}
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
		"GIT_TEMPLATE_DIR": filepath.Join(home, "empty"), // no sample hooks
		// After a commit git may run maintenance in the background, with a lock file among the objects.
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "maintenance.auto", "GIT_CONFIG_VALUE_0": "false",
	} {
		os.Setenv(name, value)
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// try runs git like a user and returns its output and error.
func try(dir string, args ...string) (string, error) { return run(dir, "", "git", args...) }

// sh runs a script in a directory. The script stops at its first error, and then the test fails.
func sh(t testing.TB, dir, script string) {
	t.Helper()
	_, err := run(dir, "", "bash", "-ec", script)
	assert.NilError(t, err)
}

// run runs a program in a directory, with in as its input, and returns its output.
func run(dir, in, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=c",
		"GIT_COMMITTER_EMAIL=c@example.com", "GIT_EDITOR=true", "GIT_LITERAL_PATHSPECS=1", "LC_ALL=C")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %q in %s: %w: %s", program, args, dir, err, stderr.String())
	}
	return out.String(), nil
}

// git runs git like a user and returns its output. If git fails, the test fails.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return pipe(t, dir, "", args...)
}

// pipe is like git, but gives git an input.
func pipe(t testing.TB, dir, in string, args ...string) string {
	t.Helper()
	out, err := run(dir, in, "git", args...)
	assert.NilError(t, err)
	return out
}

// commit commits all changes of a worktree.
func commit(t testing.TB, dir string) {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "commit")
}

// write writes a file, which may be a program. While the file is open it holds ForkLock, because a child
// process that is started at that time would inherit the open file.
func write(t testing.TB, dir, name, content string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	path := filepath.Join(dir, name)
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	assert.NilError(t, os.WriteFile(path, []byte(content), 0o666))
}

func read(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	assert.NilError(t, err)
	return string(data)
}

// site is a machine with a checkout and other directories next to it.
type site struct{ root string }

func (s site) checkout() string { return filepath.Join(s.root, "checkout") }

// shelf is a directory with subdirectories that tests share and never change. Tests copy them, because
// copying is faster than running git. newCommit contains a *sync.Once for each subdirectory, by name.
var (
	shelf     string
	newCommit sync.Map
)

// once returns a shared directory. The first call for a name creates the directory and calls fill.
func once(t testing.TB, what string, fill func(dir string)) string {
	t.Helper()
	dir := filepath.Join(shelf, fmt.Sprintf("%x", sha256.Sum256([]byte(what))))
	one, _ := newCommit.LoadOrStore(what, new(sync.Once))
	one.(*sync.Once).Do(func() {
		assert.NilError(t, os.Mkdir(dir, 0o777))
		fill(dir)
	})
	return dir
}

// sharedRemote returns a bare repository with three commits on main.
func sharedRemote(t testing.TB) string {
	t.Helper()
	return filepath.Join(once(t, "remote", func(dir string) {
		sh(t, dir, `git init -q -b main seed; cd seed; mkdir dir; echo '#!/bin/sh' > run.sh; chmod 777 run.sh; printf 'ignored\n*.o\n' > .gitignore; ln -s a link
			for text in one two three; do
				echo $text > a; echo b of $text > dir/b; printf '1\r\n2\r\n%s\n' $text > crlf; git add -A; git commit -q -m $text
			done
			git clone -q --bare . ../remote.git; cd ../remote.git; git repack -q -a -d # a copy has few files`)
	}), "remote.git")
}

// ownRemote returns a copy of sharedRemote, for a test that changes it.
func ownRemote(t testing.TB) string {
	t.Helper()
	remote := filepath.Join(t.TempDir(), "remote.git")
	copyDir(t, sharedRemote(t), remote)
	return remote
}

// otherRemote returns a repository with an unrelated history.
func otherRemote(t testing.TB, content string) string {
	t.Helper()
	return once(t, "other remote "+content, func(dir string) {
		write(t, dir, "other", content)
		sh(t, dir, "git init -q -b main; git add -A; git commit -q -m other")
	})
}

// worked returns a site with a checkout in which an agent worked, and a copy of its save. All tests share the
// site and must not change it.
func worked(t testing.TB) (site, string) {
	t.Helper()
	dir := once(t, "worked", func(dir string) {
		saved := filepath.Join(dir, "saved")
		assert.NilError(t, os.Mkdir(saved, 0o777))
		work(t, site{dir}, sharedRemote(t), saved)
	})
	saved := filepath.Join(t.TempDir(), "saved")
	copyDir(t, filepath.Join(dir, "saved"), saved)
	return site{dir}, saved
}

// work clones a remote, makes changes like an agent, and saves them in a directory.
func work(t testing.TB, s site, remote, to string) {
	t.Helper()
	s.clone(t, remote, "--depth=1")
	dir, base := s.checkout(), head(t, s.checkout())
	sh(t, dir, `echo committed > a; mkdir fresh; echo new > fresh/x; git add -A; git commit -q -m commit
		git rm -q crlf; echo unstaged > dir/b; echo untracked > loose; git worktree add -q -b some/side ../beside; echo beside > ../beside/a`)
	save(t, &workspace.Git{}, workspace.SaveRequest{Dirs: []string{dir, filepath.Join(s.root, "beside")}, Base: base, To: to})
}

func copyDir(t testing.TB, from, to string) {
	t.Helper()
	assert.NilError(t, os.CopyFS(to, os.DirFS(from)))
}

// clone creates a checkout of a remote on a new site.
func clone(t testing.TB, remote string, args ...string) site {
	t.Helper()
	s := site{t.TempDir()}
	s.clone(t, remote, args...)
	return s
}

// checkout returns a new site with a clone of the shared remote, the clone's directory, and its HEAD.
func checkout(t testing.TB, args ...string) (s site, dir, base string) {
	t.Helper()
	s = clone(t, sharedRemote(t), args...)
	return s, s.checkout(), head(t, s.checkout())
}

// clone clones a remote into the site. It copies an earlier clone with the same arguments, if possible.
func (s site) clone(t testing.TB, remote string, args ...string) {
	t.Helper()
	from := func(dir string) {
		git(t, filepath.Dir(dir), append(append([]string{"clone", "-q"}, args...), "file://"+remote, dir)...)
	}
	if !strings.HasPrefix(remote, shelf) {
		from(s.checkout())
		return
	}
	copyDir(t, once(t, fmt.Sprintf("clone %q of %s", args, remote), from), s.checkout())
	git(t, s.checkout(), "update-index", "-q", "--refresh") // the copied index contains the times of the original files
}

// head returns the HEAD commit of a worktree.
func head(t testing.TB, dir string) string {
	t.Helper()
	return strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
}

// save saves work and checks that the directory contains exactly the files that the result lists.
func save(t testing.TB, g *workspace.Git, s workspace.SaveRequest) workspace.SaveResult {
	t.Helper()
	if s.To == "" {
		s.To = t.TempDir()
	}
	saved, err := g.Save(context.Background(), s)
	assert.NilError(t, err)
	for _, name := range saved.Files {
		_, err := os.Stat(filepath.Join(s.To, name))
		assert.Check(t, err, "saved files: %v", err)
	}
	entries, _ := os.ReadDir(s.To)
	assert.Check(t, is.Len(entries, len(saved.Files)), "files in the folder")
	return saved
}

// relocated returns a function that maps directories in one site to the same directories in another.
func relocated(from, to site) func(string) string {
	return func(dir string) string {
		if rest, ok := strings.CutPrefix(dir, from.root); ok {
			return to.root + rest
		}
		return dir
	}
}

// restore restores a save of the site old in the site here.
func restore(t testing.TB, from string, old, here site) ([]string, error) {
	t.Helper()
	return new(workspace.Git).Restore(context.Background(), workspace.RestoreRequest{From: from, Dir: relocated(old, here)})
}

// mustRestore is like restore, but the test fails if the restore fails. It returns the notes.
func mustRestore(t testing.TB, from string, old, here site) []string {
	t.Helper()
	r, err := restore(t, from, old, here)
	assert.NilError(t, err)
	return r
}

// picture is the state of a worktree that a restore must reproduce.
type picture struct {
	Status, Index string            // git status with HEAD and branch
	Files         map[string]string // mode and content
}

// pictureOf returns the current state of a worktree.
func pictureOf(t testing.TB, dir string) picture {
	t.Helper()
	// Ignored files are listed so that they can be excluded. The upstream branch is not restored.
	out := git(t, dir, "status", "--porcelain=v2", "-z", "--branch", "--ignored", "--untracked-files=all", "--no-renames")
	var p picture
	var ignored []string
	for line := range strings.SplitSeq(out, "\x00") {
		path, isIgnored := strings.CutPrefix(line, "! ")
		switch {
		case isIgnored:
			ignored = append(ignored, path)
		case !strings.HasPrefix(line, "# branch.upstream") && !strings.HasPrefix(line, "# branch.ab"):
			p.Status += line + "\x00"
		}
	}
	p.Files = files(t, dir, ignored...)
	p.Index = git(t, dir, "ls-files", "--stage", "-z")
	return p
}

// files returns the mode and content of each file below a directory, by name. It skips git's own files,
// nested worktrees, and the files in except.
func files(t testing.TB, dir string, except ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		_, nested := os.Lstat(filepath.Join(path, ".git"))
		switch {
		case d.Name() == ".git" && d.IsDir(), rel != "." && d.IsDir() && nested == nil:
			return fs.SkipDir
		case d.Name() == ".git" || d.IsDir() || slices.Contains(except, rel):
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			all[rel] = "link " + target
			return err
		case !d.Type().IsRegular():
			return nil // saves contain no pipes
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all[rel] = fmt.Sprintf("%v %q", info.Mode()&0o111 != 0, data)
		return err
	})
	assert.NilError(t, err)
	return all
}

// Values of the parameter objects of the function everything. They select what it returns about git objects.
const (
	allObjects  = iota
	objectNames // only names, because git updates the times of objects that are still needed
	noObjects
)

// everything returns all files below a directory with their modes, times and contents, including git's own
// files.
func everything(t testing.TB, dir string, objects int) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		isObject := strings.Contains(path, ".git/objects")
		if err != nil || isObject && objects == noObjects {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		is := info.Mode().String()
		if info.Mode().IsRegular() {
			is += fmt.Sprintf(" %v %q", info.ModTime(), read(t, path, ""))
		}
		if isObject && objects == objectNames {
			is = ""
		}
		all[strings.TrimPrefix(path, dir)] = is
		return nil
	})
	assert.NilError(t, err)
	return all
}

// branches returns the commits of a repository's branches, by name.
func branches(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(git(t, dir, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = id
	}
	return all
}

// same checks that the worktree here equals the saved worktree old.
func same(t testing.TB, old, here string) {
	t.Helper()
	sameAs(t, pictureOf(t, old), here)
}

func sameAs(t testing.TB, want picture, here string) {
	t.Helper()
	assert.Check(t, is.DeepEqual(pictureOf(t, here), want), "restored worktree %s", here)
}

// some returns every n-th case of a long table, where n is everyCase.
func some[T any](all []T) []T {
	var few []T
	for i, one := range all {
		if i%everyCase == 0 {
			few = append(few, one)
		}
	}
	return few
}

// names returns the sorted names of the cases in a table.
func names[T any](all map[string]T) []string { return slices.Sorted(maps.Keys(all)) }

// seen records the requests that a server received.
type seen struct {
	mu      sync.Mutex // guards the fields below
	headers []string   // Authorization header of each request
	hosts   []string
}

// listener starts a server that records its requests and answers them with answer.
func listener(t *testing.T, answer http.HandlerFunc) (*httptest.Server, *seen) {
	t.Helper()
	s := &seen{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.headers, s.hosts = append(s.headers, r.Header.Get("Authorization")), append(s.hosts, r.Host)
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server, s
}

func isConflict(err error) bool {
	_, is := errors.AsType[*workspace.Conflict](err)
	return is
}
