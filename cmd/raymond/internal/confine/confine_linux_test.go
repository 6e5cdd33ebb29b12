package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/places"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
)

// machine is a place for runs.
type machine struct {
	t    *testing.T
	root string
	at   Site

	mu    sync.Mutex
	lines []string
}

// newMachine has a home, a workspace and a temporary folder of the job.
func newMachine(t *testing.T) *machine {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, root: root}
	for _, dir := range []string{"home", "work", "temp/_runner_file_commands", "temp/raymond", "bin"} {
		m.folder(dir)
	}
	m.at = Site{
		Needs: runner.Needs{Write: []string{m.path("home/.cli/sessions")}, Logins: []string{m.path("home/.other/login")}, Guarded: []string{m.path("home/.cli/settings")}},
		Site: places.Site{
			Environ: []string{"HOME=" + m.path("home"), "PATH=" + m.path("bin")}, Dir: m.path("work"), Workspace: m.path("work"), Temp: m.path("temp"),
			Hidden: []string{m.path("temp/raymond"), m.path("temp/_runner_file_commands/set_env")},
		},
		Label: func(flag string) string { return "input " + flag },
		Tell: func(line string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.lines = append(m.lines, line)
		},
	}
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.root, filepath.FromSlash(name)) }

func (m *machine) folder(name string) string {
	m.t.Helper()
	if err := os.MkdirAll(m.path(name), 0o755); err != nil {
		m.t.Fatal(err)
	}
	return m.path(name)
}

func (m *machine) file(name, data string) string {
	m.t.Helper()
	m.folder(filepath.Dir(name))
	if err := os.WriteFile(m.path(name), []byte(data), 0o755); err != nil {
		m.t.Fatal(err)
	}
	return m.path(name)
}

func (m *machine) link(name, to string) {
	m.t.Helper()
	if err := os.Symlink(to, m.path(name)); err != nil {
		m.t.Fatal(err)
	}
}

// cages makes the cages of a run.
func (m *machine) cages(wish options.Cage) *Cages {
	m.t.Helper()
	c, err := New(wish, m.at)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(c.Close)
	return c
}

// short are paths as a test writes them, without those of the system and of the run's
// own folder.
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

// TestWhatIsWritable: the working directory with git's folder, the conversations, the
// caches of programs that are there, and what the user names.
func TestWhatIsWritable(t *testing.T) {
	m := newMachine(t)
	m.file("bin/npm", "")
	m.file("bin/sh", "")
	m.folder("home/.gradle/caches")
	m.folder("work/.git")
	m.at.Dir = m.folder("work/sub")
	c := m.cages(options.Cage{Mode: options.CageOn, Writable: []string{"out", m.path("shared")}})
	want := []string{"home/.cache", "home/.cli/sessions", "home/.gradle/caches", "home/.npm", "shared", "work/.git", "work/out", "work/sub"}
	if d := cmp.Diff(want, m.short(c.policy.Writable)); d != "" {
		t.Errorf("writable (-want +got):\n%s", d)
	}
	if !slices.Contains(c.policy.Writable, c.own) || !slices.Contains(c.env, "TMPDIR="+c.own) || filepath.Dir(c.own) != m.path("temp") {
		t.Errorf("own folder: got %q, writable %q and %q, want one below %s that TMPDIR names", c.own, c.policy.Writable, c.env, m.path("temp"))
	}
	c.Close()
	if _, err := os.Lstat(c.own); err == nil {
		t.Errorf("%s: got it left, want it removed at the end", c.own)
	}
}

// TestRequiredCagesShareNoCaches: what agents put into one could poison a later step.
func TestRequiredCagesShareNoCaches(t *testing.T) {
	m := newMachine(t)
	m.file("bin/npm", "")
	m.folder("home/.gradle/caches")
	c := &Cages{told: newTold(m.at)}
	defer c.Close()
	if err := c.build(options.Cage{Mode: options.CageRequire}, m.at); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"home/.cli/sessions", "work"}, m.short(c.policy.Writable)); d != "" {
		t.Errorf("writable (-want +got):\n%s", d)
	}
	for _, name := range []string{"npm_config_cache", "XDG_CACHE_HOME", "GOMODCACHE", "GOCACHE", "PIP_CACHE_DIR"} {
		if got := places.Value(c.Env(), name); !cage.IsWithin(got, c.own) {
			t.Errorf("%s: got %q, want a folder below %s", name, got, c.own)
		}
	}
}

// TestACacheThatHoldsMoreIsNotWritten: a folder of PATH in it, whose programs others
// run, or the files of the job, as under act. The run has one of its own then.
func TestACacheThatHoldsMoreIsNotWritten(t *testing.T) {
	for name, put := range map[string]func(*machine){
		"a folder of PATH": func(m *machine) { m.at.Environ[1] += ":" + m.folder("home/.cache/tools/bin") },
		"a command file":   func(m *machine) { m.at.Hidden = append(m.at.Hidden, m.file("home/.cache/act/env", "")) },
		"the workspace":    func(m *machine) { m.at.Workspace = m.folder("home/.cache/act/work") },
		"a link to it":     func(m *machine) { m.link("alias", m.folder("home/.cache/act")); m.at.Temp = m.folder("alias/temp") },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.file("bin/sh", "")
			put(m)
			c := m.cages(on)
			if own := places.Value(c.Env(), "XDG_CACHE_HOME"); slices.Contains(c.policy.Writable, m.path("home/.cache")) || !cage.IsWithin(own, c.own) {
				t.Errorf("writable: got %q, and the cache %q, want it without ~/.cache, and one below %s", c.policy.Writable, own, c.own)
			}
		})
	}
}

// TestWhatIsShownOfTheTemporaryFolder: what variables of agents name, but never run
// files or what contains them.
func TestWhatIsShownOfTheTemporaryFolder(t *testing.T) {
	m := newMachine(t)
	m.at.Environ = append(m.at.Environ,
		"GITHUB_EVENT_PATH="+m.file("temp/_github_workflow/event.json", "{}"), "RUNNER_TEMP="+m.path("temp"),
		"LIB="+m.file("temp/a/lib", "")+":"+m.file("temp/b", ""), "MINE="+m.file("temp/raymond/run/state.json", "{}"),
		"ALL="+m.path("temp/_runner_file_commands"), "OTHER="+m.path("work"))
	m.file("temp/_runner_file_commands/set_env", "")
	c := m.cages(on)
	if d := cmp.Diff([]string{"temp/_github_workflow/event.json", "temp/a/lib", "temp/b"}, m.short(c.policy.Shown)); d != "" {
		t.Errorf("shown (-want +got):\n%s", d)
	}
	for _, path := range []string{m.path("temp"), m.path("temp/raymond"), m.path("home/.ssh"), m.path("home/.aws"), m.path("home/.other/login")} {
		if !slices.Contains(c.policy.Hidden, path) {
			t.Errorf("hidden: got %q, want %s among it", c.policy.Hidden, path)
		}
	}
	m.at.Needs.Read = []string{m.path("home/.aws")}
	if c := m.cages(on); slices.Contains(c.policy.Hidden, m.path("home/.aws")) {
		t.Errorf("hidden from an agent CLI that needs it: got %q, want ~/.aws readable", c.policy.Hidden)
	}
}

// TestTheFoldersOfRunnersAreHidden, whoever's, with their keys and logs: but for tools, what is on PATH, and the
// workspace.
func TestTheFoldersOfRunnersAreHidden(t *testing.T) {
	m := newMachine(t)
	m.at.Temp, m.at.Workspace = m.folder("runner/_work/_temp"), m.folder("runner/_work/r/r")
	m.at.Dir = m.at.Workspace
	for _, file := range []string{"runner/.runner", "runner/.credentials", "home/other-runner/.runner", "home/other-runner/.env", "runner/_work/r/r/.runner"} {
		m.file(file, "x")
	}
	m.at.Environ = []string{"HOME=" + m.path("home"), "PATH=" + m.path("bin") + ":" + m.folder("runner/_work/_tool/go/bin") + ":" + m.path("runner"), "RUNNER_TOOL_CACHE=" + m.path("runner/_work/_tool")}
	p := m.cages(on).policy
	for _, hidden := range []string{"runner", "home/other-runner"} {
		if !slices.Contains(p.Hidden, m.path(hidden)) {
			t.Errorf("hidden: got %q, want %s among it", m.short(p.Hidden), hidden)
		}
	}
	if d := cmp.Diff([]string{"runner/_work/_tool", "runner/_work/_tool/go/bin"}, m.short(p.Shown)); d != "" {
		t.Errorf("shown (-want +got):\n%s", d)
	}
	if !slices.Contains(p.Writable, m.at.Workspace) {
		t.Errorf("writable: got %q, want the workspace among it", m.short(p.Writable))
	}
}

// TestGitFolders: a file that names git's folder may be an agent's, so it counts only
// where git's folder says the same.
func TestGitFolders(t *testing.T) {
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
		got, _ := places.GitFolders(m.folder(dir))
		if d := cmp.Diff(want, m.short(got)); d != "" {
			t.Errorf("git folders of %s (-want +got):\n%s", dir, d)
		}
	}
}

// TestAgentsElsewhere: an agent may work in a linked worktree of the repository; any
// other directory outside of what is writable it can only read, which is told once.
func TestAgentsElsewhere(t *testing.T) {
	m := newMachine(t)
	m.folder("work/.git")
	m.file("tree/.git", "gitdir: "+m.path("work/.git/worktrees/tree")+"\n")
	m.file("work/.git/worktrees/tree/commondir", "../..\n")
	m.file("work/.git/worktrees/tree/gitdir", m.path("tree/.git")+"\n")
	// Another repository has a worktree, too.
	m.file("other-tree/.git", "gitdir: "+m.path("other/.git/worktrees/tree")+"\n")
	m.file("other/.git/worktrees/tree/commondir", "../..\n")
	m.file("other/.git/worktrees/tree/gitdir", m.path("other-tree/.git")+"\n")
	c := m.cages(on)
	for dir, want := range map[string]bool{"work": true, "work/deep": true, "tree": true, "tree/deep": true, "other-tree": false, "home": false, "bin": false} {
		w := c.Agent(m.folder(dir)).Policy().Writable
		if got := slices.ContainsFunc(w, func(p string) bool { return cage.IsWithin(m.path(dir), p) }); got != want {
			t.Errorf("an agent in %s: got it writable %v, want %v; %q", dir, got, want, w)
		}
	}
	c.Agent(m.path("bin"))
	if n := strings.Count(fmt.Sprint(m.lines), m.path("bin")); n != 1 || !strings.Contains(fmt.Sprint(c.Notes()), "input cage-write") {
		t.Errorf("told: got %q, want each directory once, with the input", m.lines)
	}
	// A worktree that the agents made up.
	m.file("work/made/.git", "gitdir: "+m.path("work/.git/worktrees/made")+"\n")
	m.file("work/.git/worktrees/made/commondir", "../..\n")
	m.file("work/.git/worktrees/made/gitdir", m.path("home/.git")+"\n")
	if w := c.Agent(m.path("home")).Policy().Writable; slices.Contains(w, m.path("home")) {
		t.Errorf("an agent in a folder that only .git/worktrees names: got %q, want it read-only", w)
	}
}

// TestNoLinkLeadsOutOfTheWorkspace: agents of an earlier run may have left it.
func TestNoLinkLeadsOutOfTheWorkspace(t *testing.T) {
	m := newMachine(t)
	m.link("work/out", m.path("home"))
	_, err := New(options.Cage{Mode: options.CageOn, Writable: []string{"out", "fine"}}, m.at)
	if err == nil || !strings.Contains(err.Error(), "input cage-write") || !strings.Contains(err.Error(), "out of the workspace") {
		t.Errorf("a folder behind a link: got %v, want it refused", err)
	}
}

// TestWhatIsNotHeldIsTold: a folder that agents may write protects nothing in it.
func TestWhatIsNotHeldIsTold(t *testing.T) {
	m := newMachine(t)
	m.at.Hidden = append(m.at.Hidden, m.folder("work/state"))
	m.at.Guarded = []string{m.folder("work/action")}
	c := m.cages(options.Cage{Mode: options.CageOn, Writable: []string{m.path("home")}})
	notes := strings.Join(c.Notes(), "\n")
	for _, path := range []string{"work/state", "work/action", "home"} {
		if !strings.Contains(notes, m.path(path)) {
			t.Errorf("notes: got %q, want %s named", notes, path)
		}
	}
}

// TestAPIsAreReached whatever the user names: those of this machine at their ports.
func TestAPIsAreReached(t *testing.T) {
	m := newMachine(t)
	m.at.Needs.Hosts = []string{"127.0.0.1:4711", "gate.example:8443"}
	c := m.cages(options.Cage{Mode: options.CageOn, Network: "none"})
	if got := c.policy.Network.Ports; !slices.Contains(got, 4711) || slices.Contains(got, 8443) {
		t.Errorf("ports: got %d, want that of the API on this machine among them", got)
	}
	if ports, hosts := apart(m.at.Needs.Hosts); !slices.Equal(ports, []uint16{4711}) || !slices.Equal(hosts, []string{"gate.example:8443"}) {
		t.Errorf("APIs: got the ports %d and the hosts %q, want each apart", ports, hosts)
	}
}

// TestListedPortsOfThisMachineAreReached, as that of a database beside the job, which no
// proxy for HTTP is of use for.
func TestListedPortsOfThisMachineAreReached(t *testing.T) {
	c := newMachine(t).cages(options.Cage{Mode: options.CageOn, Network: "127.0.0.1:5432 example.com"})
	if got := c.policy.Network.Ports; !slices.Contains(got, 5432) || slices.Contains(got, 443) {
		t.Errorf("ports: got %d, want 5432 among them", got)
	}
}

// TestRefusalsAreToldOnce, with the input to add, and not without end.
func TestRefusalsAreToldOnce(t *testing.T) {
	m := newMachine(t)
	c := m.cages(on)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			c.told.refusedHost("evil.example:443")
			c.told.refusedAddress("/var/run/docker.sock")
			c.told.refusedAddress("/var/run/nscd/socket")
			c.told.refusedAddress("10.0.0.1:80")
			c.told.refusedAddress("127.0.0.1:5432")
		})
	}
	all.Wait()
	got := strings.Join(c.Notes(), "\n")
	for part, want := range map[string]int{
		"evil.example:443 to input network": 1, "docker.sock": 1, "nscd": 0, "10.0.0.1:80": 1, "add 127.0.0.1:5432 to input network": 1, "input cage-write": 1,
	} {
		if n := strings.Count(got, part); n != want {
			t.Errorf("%q: got it %d times in %q, want %d", part, n, got, want)
		}
	}
	for n := range 3 * maxLines {
		c.told.refusedHost(fmt.Sprintf("%d.example", n))
	}
	if n := len(c.Notes()); n > maxLines+1 || len(m.lines) > maxLines {
		t.Errorf("notes about many hosts: got %d and %d lines, want %d at most", n, len(m.lines), maxLines+1)
	}
}
