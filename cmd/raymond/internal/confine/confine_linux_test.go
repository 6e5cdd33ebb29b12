package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
)

// machine simulates a machine for runs in a temporary directory. It records the lines that cages report.
type machine struct {
	t    *testing.T
	root string
	at   Site

	mu    sync.Mutex
	lines []string
}

// newMachine returns a machine with a home directory, a workspace, and a temporary directory of the job.
func newMachine(t *testing.T) *machine {
	root, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	m := &machine{t: t, root: root}
	for _, dir := range []string{"home", "work", "temp/_runner_file_commands", "temp/raymond", "bin"} {
		m.folder(dir)
	}
	m.at = Site{
		Needs:   runner.Needs{Write: []string{m.folder("clis/sessions")}},
		Environ: []string{"HOME=" + m.path("home"), "PATH=" + m.path("bin")}, Dir: m.path("work"), Workspace: m.path("work"), Temp: m.path("temp"),
		Hidden: []string{m.path("temp/raymond"), m.path("temp/_runner_file_commands/set_env")},
		Label:  func(flag string) string { return "input " + flag },
		Info: func(line string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.lines = append(m.lines, line)
		},
	}
	m.at.Warn = m.at.Info
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.root, filepath.FromSlash(name)) }

// folder creates a directory and returns its path.
func (m *machine) folder(name string) string {
	m.t.Helper()
	assert.NilError(m.t, os.MkdirAll(m.path(name), 0o755))
	return m.path(name)
}

// file creates a file and returns its path.
func (m *machine) file(name, data string) string {
	m.t.Helper()
	m.folder(filepath.Dir(name))
	assert.NilError(m.t, os.WriteFile(m.path(name), []byte(data), 0o755))
	return m.path(name)
}

// link creates a symbolic link that points to the path to.
func (m *machine) link(name, to string) {
	m.t.Helper()
	assert.NilError(m.t, os.Symlink(to, m.path(name)))
}

// cages creates the cages of a run. They are closed at the end of the test.
func (m *machine) cages(wish options.Cage) *Cages {
	m.t.Helper()
	c, err := New(wish, m.at)
	assert.NilError(m.t, err)
	m.t.Cleanup(c.Close)
	return c
}

// short returns paths relative to the machine's root. It leaves out paths outside of it, and the run's
// own temporary directories.
func (m *machine) short(paths []string) []string {
	var out []string
	for _, p := range paths {
		if name, ok := strings.CutPrefix(p, m.root+"/"); ok && !strings.HasPrefix(name, "temp/r-") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

var on = options.Cage{Mode: options.CageOn}

// TestWritablePaths checks that agents can write the working directory with git's directory, the
// conversations and the user's paths, but never files of the runner, the run or an action.
func TestWritablePaths(t *testing.T) {
	m := newMachine(t)
	m.folder("home/.npm")
	m.folder("work/.git")
	m.at.Dir = m.folder("work/sub")
	c := m.cages(options.Cage{Mode: options.CageOn, Writable: []string{"out", "~/.cache", m.path("shared")}})
	want := []string{"clis/sessions", "home/.cache", "shared", "work/.git", "work/out", "work/sub"}
	assert.Check(t, is.DeepEqual(m.short(c.policy.Writable), want), "writable")
	if !slices.Contains(c.policy.Writable, c.own) || !slices.Contains(c.env, "TMPDIR="+c.own+"/tmp") || filepath.Dir(c.own) != m.path("temp") {
		t.Errorf("own folder: got %q, writable %q and %q, want one below %s that TMPDIR names", c.own, c.policy.Writable, c.env, m.path("temp"))
	}
	c.Close()
	if _, err := os.Lstat(c.own); err == nil {
		t.Errorf("%s: got it left, want it removed at the end", c.own)
	}
	m.at.Guarded = []string{m.folder("actions/one/dist")}
	for _, never := range []string{"temp", "temp/raymond", "temp/raymond/x", "actions", "actions/one/dist"} {
		if _, err := New(options.Cage{Mode: options.CageOn, Writable: []string{m.path(never)}}, m.at); err == nil || !strings.Contains(err.Error(), "agents may never write there") {
			t.Errorf("cage-write %s: got %v, want it refused", never, err)
		}
	}
}

// TestReadablePaths checks that agents can read tools without credentials, paths in variables of a job
// and the user's paths. They can't read other files in the home directory, the job's temporary directory
// and the directories of runners.
func TestReadablePaths(t *testing.T) {
	m := newMachine(t)
	m.at.Temp, m.at.Workspace = m.folder("runner/_work/_temp"), m.folder("runner/_work/r/r")
	m.at.Dir, m.at.Hidden = m.folder("runner/_work/r/r/sub"), []string{m.folder("runner/_work/_temp/raymond"), m.file("runner/_work/_temp/_runner_file_commands/set_env", "")}
	m.at.Needs.Read = []string{m.folder("home/.aws")}
	m.at.Environ = []string{
		"HOME=" + m.path("home"), "RUNNER_TEMP=" + m.at.Temp, "RUNNER_TOOL_CACHE=" + m.path("runner/_work/_tool"), "GITHUB_WORKSPACE=" + m.at.Workspace,
		"PATH=" + strings.Join([]string{
			m.path("bin"), m.folder("runner/_work/_tool/go/bin"), m.path("runner"), m.path("home"), m.folder("home/.local/bin"), m.folder("home/kit/bin"),
			m.folder("home/app/node_modules/.bin"), m.path("runner/_work/_temp/raymond"), ".", "/",
		}, ":"),
		"GITHUB_EVENT_PATH=" + m.file("runner/_work/_temp/_github_workflow/event.json", "{}"), "LIB=" + m.folder("runner/_work/_temp/a/lib") + ":" + m.file("runner/_work/_temp/b", ""),
		"MINE=" + m.file("runner/_work/_temp/raymond/state.json", "{}"), "ALL=" + m.path("runner/_work/_temp/_runner_file_commands/set_env"), "CERT=" + m.file("home/ca.pem", ""),
		"FOLDER=" + m.folder("home/.ssh"),
	}
	m.folder("runner/_work/r/r/.git")
	for _, name := range []string{
		"home/kit/lib/x", "home/kit/secret", "home/.local/share/keyrings/x", "home/.local/lib/x", "home/.local/share/uv/tools/x", "home/.cargo/bin/x", "home/.cargo/credentials.toml",
		"home/.rustup/x", "home/.ssh/id", "home/.netrc", "home/.npm/x", "home/.aws/credentials", "home/app/x", "home/app/node_modules/one/x", "home/ours/x", "home/go/pkg/mod/cache/download/x", "home/go/pkg/mod/x",
		"runner/.runner", "runner/.credentials", "runner/_diag/log", "runner/_work/_actions/x", "runner/_work/_temp/other", "runner/_work/r/r/sub/x", "runner/_work/r/r/x", "runner/_work/_tool/go/x",
		"runner/_work/other/x", "elsewhere/x", "home/other-runner/.runner", "home/other-runner/.env",
	} {
		m.file(name, "x")
	}
	c := m.cages(options.Cage{Mode: options.CageOn, Readable: []string{"~/ours"}})
	p := c.Agent(m.at.Dir).Policy()
	var got []string
	err := filepath.WalkDir(m.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && (p.CanRead(path) || slices.ContainsFunc(p.Writable, func(w string) bool { return cage.IsWithin(path, w) })) {
			got = append(got, path)
		}
		return nil
	})
	assert.NilError(t, err)
	want := []string{
		"home/.aws/credentials", "home/.cargo/bin/x", "home/.local/lib/x", "home/.local/share/uv/tools/x", "home/.rustup/x", "home/app/node_modules/one/x", "home/ca.pem", "home/go/pkg/mod/cache/download/x",
		"home/kit/lib/x", "home/ours/x", "runner/_work/_temp/_github_workflow/event.json", "runner/_work/_temp/b", "runner/_work/_tool/go/x", "runner/_work/r/r/sub/x", "runner/_work/r/r/x",
	}
	assert.Check(t, is.DeepEqual(slices.DeleteFunc(m.short(got), func(name string) bool { return strings.HasPrefix(name, "runner/_work/_temp/r-") }), want), "readable")
}

// TestAgentHome checks that the agents' home directory contains links to the readable parts of the real
// home directory, our git configuration, and caches.
func TestAgentHome(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{"home/.rustup/x", "home/.ssh/id", "home/.npm/x", "home/go/pkg/mod/cache/download/x", "home/.config/gh/hosts.yml", "home/.m2/repository/x"} {
		m.file(name, "x")
	}
	m.file("home/.gitconfig", "[core]\n\thooksPath = /planted\n[user]\n\tname = A \"B\"\n\temail = a@example.org\n\tsigningkey = 1\n[credential]\n\thelper = store\n\tname = no\n")
	m.at.Environ = append(m.at.Environ, "GOPROXY=https://proxy.example", "GOFLAGS=-mod=mod", "npm_config_cache="+m.path("home/.npm"), "XDG_CONFIG_HOME="+m.path("home/.config"), "GOMODCACHE="+m.path("home/go/pkg/mod"))
	c := m.cages(options.Cage{Mode: options.CageOn, Writable: []string{"~/.npm"}, Readable: []string{"~/.config/gh/hosts.yml"}})
	home := workspace.Getenv(c.env, "HOME")
	var links []string
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type()&os.ModeSymlink != 0 {
			to, _ := os.Readlink(path)
			links = append(links, strings.TrimPrefix(path, home+"/")+" "+strings.TrimPrefix(to, m.root+"/"))
		}
		return err
	})
	assert.NilError(t, err)
	assert.Check(t, is.DeepEqual(links, []string{".config/gh/hosts.yml home/.config/gh/hosts.yml", ".npm home/.npm", ".rustup home/.rustup"}), "links of the home folder")
	config, err := os.ReadFile(filepath.Join(home, ".gitconfig"))
	if want := "[user]\n\tname = A \"B\"\n[user]\n\temail = a@example.org\n"; err != nil || !strings.HasSuffix(string(config), want) {
		t.Errorf("git's settings: got %q, %v, want %q at the end", config, err, want)
	}
	for name, want := range map[string]string{
		"npm_config_cache": "", "XDG_CONFIG_HOME": home + "/.config", "GOMODCACHE": home + "/go/pkg/mod", "GRADLE_USER_HOME": home + "/.gradle", "GOFLAGS": "-mod=mod -modcacherw",
		"GOPROXY": "file://" + m.path("home/go/pkg/mod/cache/download") + ",https://proxy.example", "MAVEN_ARGS": "-Dmaven.repo.local=" + home + "/.m2/repository",
	} {
		assert.Check(t, is.Equal(workspace.Getenv(c.env, name), want), name)
	}
	assert.Check(t, is.Contains(strings.Join(m.lines, "\n"), "agents can't use ~/.m2/repository; input cage-write: ~/.m2/repository"), "told: want the cache that is not seen")
}

// TestGitSettingsRunNoCommands checks that agents get only harmless git settings and the known filters of
// git LFS.
func TestGitSettingsRunNoCommands(t *testing.T) {
	const lfs = "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n\tsmudge = git-lfs smudge -- %f\n"
	for text, want := range map[string]string{
		"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n": lfs,
		strings.ReplaceAll(lfs, "required = true", "required = false"):                                                                              "",
		strings.ReplaceAll(lfs, "-- %f", "-- %f; id"):                                                                                               "",
		strings.ReplaceAll(lfs, `"lfs"`, `"lfs2"`):                                                                                                  "",
		lfs + "\tclean = id\n": "",
		strings.NewReplacer("process\n", "process --skip\n", "smudge --", "smudge --skip --").Replace(lfs): strings.NewReplacer("process\n", "process --skip\n", "smudge --", "smudge --skip --").Replace(lfs),
		"[core]\n\tautocrlf = Input\n\tfsmonitor = id\n\teol = id\n[alias]\n\tname = id\n":                 "[core]\n\tautocrlf = Input\n",
	} {
		assert.Check(t, is.Equal(safeConfig(text), want), text)
	}
}

// TestHardLinksAreSplit checks that a file in the working directory is replaced with a copy if it has a
// hard link elsewhere, such as in the cache of a package manager. A file whose links are all in the
// working directory stays the same.
func TestHardLinksAreSplit(t *testing.T) {
	m := newMachine(t)
	for from, to := range map[string]string{"store/one": "work/node_modules/one", "work/a": "work/b", "store/pack": "work/.git/objects/pack"} {
		m.file(from, "x")
		m.folder(filepath.Dir(to))
		assert.NilError(t, os.Link(m.path(from), m.path(to)))
	}
	m.cages(on)
	isSame := func(a, b string) bool {
		first, err := os.Stat(m.path(a))
		second, more := os.Stat(m.path(b))
		if err != nil || more != nil || first.Mode() != second.Mode() || !first.ModTime().Equal(second.ModTime()) || second.Size() != 1 {
			t.Fatalf("%s and %s: got %v, %v, want them alike", a, b, first, second)
		}
		return os.SameFile(first, second)
	}
	if isSame("store/one", "work/node_modules/one") || isSame("store/pack", "work/.git/objects/pack") || !isSame("work/a", "work/b") {
		t.Error("got a file of the working directory that is one of another folder, want none; or two of one")
	}
}

// TestAgentHomeWorks checks in a cage that commands can use their home directory and TMPDIR, that git
// accepts files of another user and knows an author for commits, and that a key in the real home
// directory can't be read.
func TestAgentHomeWorks(t *testing.T) {
	m := newMachine(t)
	m.file("home/.gitconfig", "[user]\n\tname = A\n")
	m.file("home/.ssh/id", "canary")
	m.at.Environ = append(m.at.Environ, "PATH="+os.Getenv("PATH"))
	out, err := exec.Command("git", "init", "-q", m.path("work")).CombinedOutput()
	assert.NilError(t, err, string(out))
	if os.Geteuid() == 0 { // as root, like in a container, give the files to another user
		out, err := exec.Command("chown", "-R", "4711:4711", m.path("work")).CombinedOutput()
		assert.NilError(t, err, string(out))
	}
	c := m.cages(on)
	got := caged(t, c, m.path("work"), `cd "$HOME" && echo x > file && mkdir -p .config/a && cat file; echo y > "$(mktemp)"
		cd "$WORK" && echo z > f && git add f && git commit -qm first && git log -1 --format='%an <%ae>'; git worktree add -q "$TMPDIR/tree" -b topic && ls "$TMPDIR/tree"
		cat `+m.path("home/.ssh/id")+` || echo refused`)
	if want := "x\nA <41898282+github-actions[bot]@users.noreply.github.com>\nf\n"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "refused\n") || strings.Contains(got, "canary") {
		t.Errorf("got %s, want %q and no key", got, want)
	}
}

// caged runs a script in the cage of an agent, and returns its output.
func caged(t *testing.T, c *Cages, dir, script string) string {
	t.Helper()
	argv := []string{"/bin/bash", "-c", script}
	e, err := c.Agent(dir).Enter(argv[0], cage.Mark(t.Name()+".1"))
	assert.NilError(t, err)
	defer e.Close()
	var out strings.Builder
	cmd := exec.Cmd{
		Path: cage.EntryProgram, Args: e.Arguments(argv), Dir: dir, Env: append([]string{"PATH=" + os.Getenv("PATH"), "WORK=" + dir}, c.Env()...),
		ExtraFiles: []*os.File{e.File()}, Stdout: &out, Stderr: &out,
	}
	assert.NilError(t, cmd.Start())
	assert.Check(t, e.Admit())
	_ = cmd.Wait()
	return out.String()
}

// TestGitDirs checks which directory is recognized as git's directory of a worktree. An agent may have
// written the file that names this directory, so the directory must name the worktree as well.
func TestGitDirs(t *testing.T) {
	m := newMachine(t)
	m.folder("repo/.git/modules/sub")
	linked := func(top, gitDir, back string) {
		m.file(top+"/.git", "gitdir: "+m.path(gitDir)+"\n")
		m.file(gitDir+"/commondir", "../..\n")
		m.file(gitDir+"/gitdir", back+"\n")
	}
	linked("tree", "repo/.git/worktrees/tree", m.path("tree/.git"))
	linked("work/liar", "repo/.git/worktrees/liar", m.path("elsewhere/.git"))
	linked("work/forged", "home/worktrees/forged", m.path("work/forged/.git"))
	m.file("home/worktrees/forged/commondir", m.folder("home/.ssh"))
	m.file("repo/sub/.git", "gitdir: ../.git/modules/sub\n")
	m.file("repo/planted/.git", "gitdir: "+m.path("home")+"\n")
	m.folder("linked")
	m.link("linked/.git", m.path("repo/.git"))
	for dir, want := range map[string][]string{
		"repo": {"repo/.git"}, "repo/deep/er": {"repo/.git"}, "tree": {"repo/.git"}, "tree/deep": {"repo/.git"},
		"work/liar": nil, "work/forged": nil, "repo/sub": {"repo/.git/modules/sub"}, "repo/planted": nil, "linked": nil, "home": nil,
	} {
		got, _ := workspace.GitDirs(m.folder(dir))
		assert.Check(t, is.DeepEqual(m.short(got), want), "git folders of %s", dir)
	}
}

// TestAgentsInOtherDirectories checks that an agent can write a linked worktree of the repository if it
// works there. Other directories of the run's worktree are read-only, which is reported once. In all
// other directories, even in readable ones, no agent can be started.
func TestAgentsInOtherDirectories(t *testing.T) {
	m := newMachine(t)
	m.folder("work/.git")
	m.file("tree/.git", "gitdir: "+m.path("work/.git/worktrees/tree")+"\n")
	m.file("work/.git/worktrees/tree/commondir", "../..\n")
	m.file("work/.git/worktrees/tree/gitdir", m.path("tree/.git")+"\n")
	// This is a linked worktree of another repository.
	m.file("other-tree/.git", "gitdir: "+m.path("other/.git/worktrees/tree")+"\n")
	m.file("other/.git/worktrees/tree/commondir", "../..\n")
	m.file("other/.git/worktrees/tree/gitdir", m.path("other-tree/.git")+"\n")
	m.at.Dir = m.folder("work/sub")
	c := m.cages(options.Cage{Mode: options.CageOn, Readable: []string{m.folder("readable")}})
	for dir, want := range map[string]bool{"work/sub": true, "work/sub/deep": true, "tree": true, "tree/deep": true, "work/other": false} {
		w := c.Agent(m.folder(dir)).Policy().Writable
		assert.Check(t, is.Equal(slices.ContainsFunc(w, func(p string) bool { return cage.IsWithin(m.path(dir), p) }), want), "writable for an agent in %s; %q", dir, w)
	}
	c.Agent(m.path("work/other"))
	if n := strings.Count(fmt.Sprint(m.lines), m.path("work/other")); n != 1 || !strings.Contains(fmt.Sprint(c.Notes()), "input cage-write") {
		t.Errorf("told: got %q, want each directory once, with the input", m.lines)
	}
	// Agents have faked a worktree, and have created a link to a directory outside of the workspace.
	m.file("work/made/.git", "gitdir: "+m.path("work/.git/worktrees/made")+"\n")
	m.file("work/.git/worktrees/made/commondir", "../..\n")
	m.file("work/.git/worktrees/made/gitdir", m.path("home/.git")+"\n")
	m.link("work/sub/out", m.path("home"))
	for _, dir := range []string{"other-tree", "home", "work/sub/out", "readable", "work/sub/../../readable"} {
		for what, box := range map[string]*cage.Cage{"an agent": c.Agent(m.path(dir)), "a script": c.Script(m.path(dir), runner.ScriptOrder{})} {
			_, err := box.Enter("/bin/true", 1)
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "is out of the workspace") || slices.Contains(box.Policy().Writable, m.path("home")) {
				t.Errorf("%s in %s: got %v, want nobody to get there", what, dir, err)
			}
		}
	}
}

// TestNoLinkLeadsOutOfTheWorkspace checks that a path is rejected if it leaves the workspace through a
// link. Agents of an earlier run may have created such a link.
func TestNoLinkLeadsOutOfTheWorkspace(t *testing.T) {
	m := newMachine(t)
	m.link("work/out", m.path("home"))
	for _, name := range []string{"out", "out/new", m.path("work/out"), m.path("elsewhere/../work/out")} {
		_, err := New(options.Cage{Mode: options.CageOn, Writable: []string{name, "fine"}, Readable: []string{name}}, m.at)
		if said := fmt.Sprint(err); strings.Count(said, "out of the workspace") != 2 || !strings.Contains(said, "input cage-write") {
			t.Errorf("%s behind a link: got %v, want it refused", name, err)
		}
	}
	_, err := os.Lstat(m.path("home/new"))
	assert.Check(t, err != nil, "a folder was made outside of the workspace")
	m.at.Dir = m.path("work/out")
	_, err = New(on, m.at)
	assert.ErrorContains(t, err, "out of the workspace", "a working directory")
}

// TestModesAreRestored checks that file modes that a caged process has changed are restored, including
// modes of directories above the paths.
func TestModesAreRestored(t *testing.T) {
	m := newMachine(t)
	m.at.Guarded = []string{m.folder("actions")}
	closed := []string{m.file("temp/_runner_file_commands/set_env", ""), m.path("temp/_runner_file_commands"), m.path("temp/raymond"), m.at.Temp, m.at.Dir, m.path("home"), m.path("actions"), m.path("bin"), m.root}
	out := caged(t, m.cages(on), m.at.Dir, "chmod 4000 "+strings.Join(closed, " ")+" && echo done")
	assert.Check(t, is.Equal(out, "done\n"), "the attack")
	modes, err := exec.Command("stat", append(closed, "--format=%a")...).Output()
	assert.NilError(t, err)
	assert.Check(t, is.Equal(string(modes), strings.Repeat("755\n", len(closed))))
}

// TestRunnerProgramsAreGuarded checks that runnerFiles finds the files that the runner needs for post
// phases.
func TestRunnerProgramsAreGuarded(t *testing.T) {
	m := newMachine(t)
	want := []string{m.file("runner/bin/Runner.Worker", ""), m.file("runner/bin/a.dll", ""), m.file("runner/externals/node24/bin/node", "")}
	slices.Sort(want)
	assert.Check(t, is.DeepEqual(runnerFiles(m.path("runner/bin/Runner.Worker")), want))
	assert.Check(t, is.Len(runnerFiles(m.path("runner/bin/node")), 0))
}

// TestUnprotectedPathsAreReported checks that a hidden or guarded path is reported if it is in a
// directory that agents may write, because it can't be protected there.
func TestUnprotectedPathsAreReported(t *testing.T) {
	m := newMachine(t)
	m.at.Hidden = append(m.at.Hidden, m.folder("work/state"))
	m.at.Guarded = []string{m.folder("work/action")}
	notes := strings.Join(m.cages(on).Notes(), "\n")
	for _, path := range []string{"work/state", "work/action"} {
		assert.Check(t, is.Contains(notes, m.path(path)), "notes: want %s named", path)
	}
}

// TestRefusedFilesAreReported checks that denied accesses to files are reported with the input that
// allows them.
func TestRefusedFilesAreReported(t *testing.T) {
	m := newMachine(t)
	m.at.Guarded = []string{m.folder("action")}
	c := m.cages(on)
	for path, want := range map[string]string{
		m.path("action/new"): "agents may never write there", m.file("home/.netrc", ""): "add it to input cage-read", m.path("home/new/file"): "add its folder to input cage-write", m.file("work/x", ""): "",
	} {
		before := len(c.Notes())
		c.RecordRefusal(path)
		if got := strings.Join(c.Notes()[before:], "\n"); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// TestLocalPortsBypassTheProxy checks which ports of this machine can be reached without the proxy, which
// handles only HTTP. Ports of APIs can always be reached. Other ports, such as the port of a database for
// the job, must be listed.
func TestLocalPortsBypassTheProxy(t *testing.T) {
	m := newMachine(t)
	m.at.Needs.Hosts = []string{"127.0.0.1:4711", "gate.example:8443"}
	for network, want := range map[string][]uint16{"none": {4711}, "127.0.0.1:5432 example.com": {4711, 5432}} {
		c := m.cages(options.Cage{Mode: options.CageOn, Network: network})
		assert.Check(t, is.DeepEqual(c.policy.Network.Ports, append(want, c.proxy.Port())), "network %s", network)
	}
	_, hosts := splitHosts(m.at.Needs.Hosts)
	assert.Check(t, is.DeepEqual(hosts, []string{"gate.example:8443"}), "hosts for the proxy")
}

// TestRefusalsAreReportedOnce checks that each denied connection is reported once, with the input to
// change if there is one, and that the number of reports is limited.
func TestRefusalsAreReportedOnce(t *testing.T) {
	m := newMachine(t)
	c := m.cages(on)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			c.notices.refusedHost("evil.example:443")
			c.notices.refusedAddress("/var/run/docker.sock")
			c.notices.refusedAddress("/var/run/nscd/socket")
			c.notices.refusedAddress("10.0.0.1:80")
			c.notices.refusedAddress("169.254.169.254:80")
			c.notices.refusedAddress("127.0.0.1:5432")
		})
	}
	all.Wait()
	got := strings.Join(c.Notes(), "\n")
	for part, want := range map[string]int{
		"evil.example:443 to input network": 1, "docker.sock": 1, "nscd": 0, "10.0.0.1:80": 1, "169.254.169.254:80: addresses": 1, "add 127.0.0.1:5432 to input network": 1, "same cage": 1,
	} {
		assert.Check(t, is.Equal(strings.Count(got, part), want), "%q: times in %q", part, got)
	}
	for n := range 3 * maxLines {
		c.notices.refusedHost(fmt.Sprintf("%d.example", n))
	}
	if n := len(c.Notes()); n != maxLines || len(m.lines) > maxLines {
		t.Errorf("notes about many hosts: got %d and %d lines, want %d at most", n, len(m.lines), maxLines)
	}
}
