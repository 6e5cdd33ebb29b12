// Package confine builds the cages of a run. It decides which files agents, done_when commands and
// untrusted scripts may read and write, and which hosts they may reach. It reports restrictions that
// this system can't enforce.
package confine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/cage/forward"
	"github.com/raymond-action/raymond-action/internal/processes"
	"github.com/raymond-action/raymond-action/runner"
)

// Site describes the machine and the run for which cages are built. All paths are absolute.
type Site struct {
	Environ   []string // the environment of agents
	Dir       string   // the run's working directory
	Workspace string   // the directory that relative paths from the user start at
	Temp      string   // the job's temporary directory; empty outside of jobs
	Hidden    []string // paths that agents must not see, such as run files and command files
	Guarded   []string // paths that agents must never write, such as the action's own code
	Readable  []string // further paths that agents may read
	// Needs are the paths and hosts that the agent CLIs need. These hosts can be reached even if the
	// user's list of hosts doesn't contain them.
	Needs runner.Needs
	// NeverHasAgents means that no agent has worked in these files or will, so trusted scripts need no cage.
	NeverHasAgents bool
	// MayGainPrivileges means that agents may use programs such as sudo. No cage is possible then.
	MayGainPrivileges bool
	// BeforeStart is called before each agent, check or untrusted script starts, even without a cage.
	// Its argument lists the directories that agents can write. If it returns an error, the program is
	// not started. It may be nil.
	BeforeStart func(writable []string) error
	// Label returns the name under which the user knows a flag of the cage: the flag or an input.
	Label func(flag string) string
	// Info reports one line about a denied access or an unenforced restriction. It is called from any
	// goroutine.
	Info func(line string)
	// Warn reports one line about missing needs of agents, or about unenforced restrictions that the
	// user asked for.
	Warn func(line string)

	own   string   // the run's temporary directory, created by makeOwn
	write []string // paths that the user lets agents write, and paths that agent CLIs need to write
}

// Cages are the cages of a run. The methods may be called concurrently.
type Cages struct {
	isOff          bool   // the user has turned the cage off
	whyNone        string // why a cage is impossible; empty if it is possible
	policy         cage.Policy
	env            []string
	own            string         // the agents' temporary directory, with their home directory
	top            string         // top directory of the worktree in which the run works; may be empty
	gitDirs        []string       // git's directories that the run may write
	proxy          *forward.Proxy // nil if the network is open
	notices        *noticeLog
	neverHasAgents bool
	never          []string // paths that agents never write, whatever the user allows
	private        string   // the result of PrivateDir
	beforeStart    func(writable []string) error

	mu        sync.Mutex // guards worktrees
	worktrees []string   // linked worktrees that became writable because agents work there
}

var _ runner.Cages = (*Cages)(nil)

// New creates the cages of a run. It must be called before any process of the run is started. The
// caller must call Close.
func New(wish options.Cage, at Site) (*Cages, error) {
	c := &Cages{notices: &noticeLog{label: at.Label, info: at.Info, warn: at.Warn}, neverHasAgents: at.NeverHasAgents, beforeStart: at.BeforeStart}
	switch {
	case wish.IsOff():
		c.isOff = true
		return c, nil
	case at.MayGainPrivileges:
		c.whyNone = "agents may gain privileges"
		return c, nil
	}
	err := c.build(wish, at)
	if err == nil {
		err = c.checkSupport(wish.Mode)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// build creates the run's temporary directories and sets the policy of the cages and their variables.
func (c *Cages) build(wish options.Cage, at Site) error {
	var err error
	if c.own, err = makeOwn(at.Temp); err != nil {
		return problem.OfMachine("temporary folder of the agents", err)
	}
	if c.private, err = makeOwn(at.Temp); err != nil {
		return problem.OfMachine("temporary folder of the scripts", err)
	}
	if err := c.setFiles(wish, at); err != nil {
		return err
	}
	var programs []string // which the job's runner still needs, for instance for post phases
	for _, pid := range processes.Ancestors() {
		program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		programs = append(programs, runnerFiles(program)...)
	}
	p := &c.policy
	p.OnEnd = recordModes(slices.Concat(p.Readable, p.Hidden, p.Writable, c.never, []string{c.private}, programs), p.Writable)
	if err := c.setNetwork(wish, at); err != nil {
		return err
	}
	// The variable describes the cage to agents, so that they understand why an access fails.
	may := slices.DeleteFunc(slices.Clone(c.policy.Writable), func(path string) bool { return cage.IsWithin(path, "/dev") })
	network := strings.Join(strings.Fields(cmp.Or(wish.Network, "open")), " ")
	c.env = append(c.env, "RAYMOND_CAGE=writable: "+strings.Join(may, ":")+"; network: "+network)
	return nil
}

// setFiles decides which files programs in the cages may read and write. It also creates the agents' home
// directory, and splits hard links in writable directories.
func (c *Cages) setFiles(wish options.Cage, at Site) error {
	// Restored work may contain a link where the working directory should be.
	if _, err := cage.FollowLinks(at.Dir, at.Workspace); err != nil {
		return &problem.Problem{Class: problem.ClassDenied, Where: "working directory", What: at.Dir + ": " + err.Error()}
	}
	writable, err := namedPaths(wish.Writable, "cage-write", at)
	readable, more := namedPaths(wish.Readable, "cage-read", at)
	if err = errors.Join(err, more); err != nil {
		return err
	}
	at.own, c.never = c.own, cage.ResolveAll(slices.Concat(at.Hidden, at.Guarded))
	at.Readable = slices.Concat(at.Readable, at.Needs.Read, readable, []string{filepath.Join(c.private, "scope")})
	at.write = slices.Concat(at.Needs.Write, writable)
	git, gitDirs := workspace.GitDirs(cage.Resolve(at.Dir))
	k := hiddenPaths{at.hiddenRoots(), cage.ResolveAll(at.Hidden)}
	shown := slices.Concat(toolchains(at.home()), at.onPath(k), at.Readable)
	c.policy, c.gitDirs, c.top = at.filePolicy(git, shown, k), gitDirs, at.top()
	if err := at.makeHome(append(shown, at.write...)); err != nil {
		return problem.OfMachine("home folder of the agents", err)
	}
	c.env = append(c.env, at.variables()...)
	if isIn(c.private, c.agentPaths()) {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "temporary folder", What: "agents can write to " + filepath.Dir(c.private), Hint: "set TMPDIR to another directory"}
	}
	if unseen := at.unusableCaches(); at.Temp != "" && len(unseen) > 0 {
		at.Info("cage: agents can't use " + strings.Join(unseen, ", ") + "; " + c.notices.label("cage-write") + ": " + unseen[0] +
			" shares one, but later steps then use what agents put there")
	}
	for _, path := range slices.Concat(at.Hidden, at.Guarded) {
		if r := cage.Resolve(path); r != "" && isIn(r, c.policy.Writable) {
			c.notices.note("cage: agents can write " + path + ": it is inside a directory that they may write; use a path elsewhere (for state files: --state-dir)")
		}
	}
	for _, top := range Outermost(append(slices.Clone(gitDirs), at.Dir)) {
		if err := splitHardLinks(top); err != nil {
			c.notices.note("cage: files in " + top + " may have hard links elsewhere, through which agents can change them: " + err.Error())
		}
	}
	return nil
}

// setNetwork decides which hosts can be reached. Unless the network is open, it starts a proxy that
// checks the hosts.
func (c *Cages) setNetwork(wish options.Cage, at Site) error {
	n := &c.policy.Network
	n.IsOpen, n.OnRefused = wish.Network == "", c.notices.refusedAddress
	if n.IsOpen {
		return nil
	}
	list, err := forward.Parse(wish.Network)
	if err != nil {
		return problem.Usage(c.notices.label("network"), err.Error(), "")
	}
	ports, hosts := splitHosts(at.Needs.Hosts)
	all := list
	if len(hosts) > 0 {
		written := strings.TrimSpace(wish.Network)
		if written == "none" {
			written = ""
		}
		if all, err = forward.Parse(written + " " + strings.Join(hosts, " ")); err != nil {
			return problem.OfMachine("the address of a model's API", err)
		}
	}
	getenv := func(name string) string { return workspace.Getenv(at.Environ, name) }
	c.proxy, err = forward.Start(forward.Options{List: all, Getenv: getenv, OnRefused: c.notices.refusedHost})
	if err != nil {
		return problem.OfMachine("proxy of the cage", err)
	}
	n.Ports = slices.Concat(ports, list.LoopbackPorts(), []uint16{c.proxy.Port()})
	c.env = append(c.env, forward.Env(list, c.proxy.Port())...)
	return nil
}

// checkSupport reports the parts of the policy that this system can't enforce. If mode is CageRequire
// and a major part can't be enforced, it returns an error.
func (c *Cages) checkSupport(mode string) error {
	var whole []string
	hint := "use Linux with Landlock and seccomp, or set it to on, which enforces as much as this system can"
	for _, lack := range cage.Gaps(c.policy) {
		line := "cage: " + lack.Text
		if lack.IsMajor {
			whole = append(whole, lack.Text)
			hint = cmp.Or(lack.Hint, hint)
		}
		if lack.Hint != "" {
			line += "; " + lack.Hint
		}
		if lack.IsWarning {
			c.notices.once(line, c.notices.warn)
		} else {
			c.notices.note(line)
		}
	}
	if cage.EntryProgram == "" {
		c.whyNone, c.env = "this system has no cage", nil
	}
	if mode != options.CageRequire || len(whole) == 0 {
		return nil
	}
	return &problem.Problem{Class: problem.ClassRuntime, Where: c.notices.label("cage"), What: "this machine can't enforce it: " + strings.Join(whole, "; "), Hint: hint}
}

// Env implements runner.Cages.
func (c *Cages) Env() []string { return c.env }

// Agent implements runner.Cages.
func (c *Cages) Agent(dir string) *cage.Cage { return c.at(dir) }

// Script implements runner.Cages.
func (c *Cages) Script(dir string, s runner.ScriptOrder) *cage.Cage {
	if c.whyNone != "" {
		c.notices.note("cage: " + filepath.Base(s.Path) + " needs a cage but runs without one: " + c.whyNone)
	}
	return c.at(dir, append(slices.Collect(maps.Keys(s.Files)), filepath.Dir(s.Path))...)
}

// at returns the cage for a program that works in dir. The program may also read the readable paths.
// at returns nil if the run has no cage.
func (c *Cages) at(dir string, readable ...string) *cage.Cage {
	isCaged := !c.isOff && c.whyNone == ""
	p, err := c.policy, error(nil)
	if isCaged {
		p, err = c.policyFor(dir)
	}
	if err == nil && c.beforeStart != nil {
		err = c.beforeStart(c.agentPaths())
	}
	switch {
	case err != nil:
		return cage.Unavailable(err)
	case !isCaged:
		return nil
	}
	p.Readable = append(slices.Clone(p.Readable), readable...)
	return cage.New(p)
}

// policyFor returns the policy for programs in the working directory dir. If dir is in a linked worktree
// of a repository that the run may write, the policy makes that worktree writable. Any other directory
// of the run's own worktree is read-only. A directory outside of that worktree is an error.
func (c *Cages) policyFor(dir string) (cage.Policy, error) {
	p := c.policy
	at := cage.Resolve(dir)
	if at == "" || isIn(at, p.Writable) {
		return p, nil
	}
	if top := workspace.LinkedWorktree(at, c.gitDirs); top != "" {
		p.Writable = append(slices.Clone(p.Writable), top)
		c.mu.Lock()
		defer c.mu.Unlock()
		if !slices.Contains(c.worktrees, top) {
			c.worktrees = append(c.worktrees, top)
		}
		return p, nil
	}
	hint := "add it to " + c.notices.label("cage-write") + " to make it writable"
	if !cage.IsWithin(at, c.top) {
		return p, fmt.Errorf("%w: the working directory %s is out of the workspace; %s", fs.ErrPermission, at, hint)
	}
	c.notices.note("cage: the working directory " + at + " is read-only; " + hint)
	return p, nil
}

// RecordRefusal implements runner.Cages.
func (c *Cages) RecordRefusal(path string) {
	at := filepath.Clean(path)
	for at != cage.Resolve(at) && cage.Resolve(at) == "" && filepath.Dir(at) != at {
		at = filepath.Dir(at)
	}
	at = cage.Resolve(at)
	switch {
	case at == "" || isIn(at, c.policy.Writable):
	case isIn(at, c.never): // no input can make it writable
		c.notices.note("cage: refused access to " + path + ": " + whyNever)
	case at == cage.Resolve(path) && !c.policy.CanRead(at) && canAccess(at, toRead):
		c.notices.note("cage: refused to read " + path + "; if it is needed, add it to " + c.notices.label("cage-read"))
	case canAccess(at, toWrite): // otherwise the access fails without a cage too, and is not reported
		c.notices.note("cage: refused to write " + path + "; if it is needed, add its folder to " + c.notices.label("cage-write"))
	}
}

// Notes returns the lines about unenforced restrictions and denied accesses, without repetitions.
func (c *Cages) Notes() []string { return c.notices.all() }

// removal is the maximum time that Close waits for the removal of the temporary directory.
const removal = 5 * time.Second

// Close stops the proxy and removes the run's temporary directories. All programs in the cages must
// have ended.
func (c *Cages) Close() {
	if c.proxy != nil {
		c.proxy.Close()
	}
	if c.private != "" {
		_ = os.RemoveAll(c.private)
	}
	if c.own == "" {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = os.RemoveAll(c.own) // on an error, the runner still removes its temporary directory
	}()
	select {
	case <-gone:
	case <-time.After(removal):
	}
}

// whyNever explains why no input can let agents write a path.
const whyNever = "agents may never write there: it contains files of the run, the runner or an action"

// namedPaths returns the paths that the user names with a flag, with links resolved. For cage-write, a
// missing directory is created, and a path that contains hidden or guarded files, or is inside of them,
// is an error. For cage-read, a missing path is only reported.
func namedPaths(names []string, flag string, at Site) ([]string, error) {
	var out []string
	var errs []error
	for _, name := range names {
		path, err := at.locate(name, flag == "cage-write")
		isAround := func(k string) bool { r := cage.Resolve(k); return cage.IsWithin(r, path) || cage.IsWithin(path, r) }
		switch {
		case errors.Is(err, fs.ErrNotExist) && flag == "cage-read":
			at.Info("cage: " + at.Label(flag) + ": " + name + " does not exist")
			continue
		case err == nil && flag == "cage-write" && slices.ContainsFunc(slices.Concat(at.Hidden, at.Guarded), isAround):
			err = errors.New(whyNever)
		}
		if err != nil {
			errs = append(errs, problem.Usage(at.Label(flag), name+": "+err.Error(), ""))
			continue
		}
		out = append(out, path)
	}
	return out, errors.Join(errs...)
}

// locate returns the absolute path that the user names, with links resolved. A relative path is relative
// to the workspace. A path in the workspace that leaves it through a link is an error. If isMade is true, a
// missing directory is created.
func (at Site) locate(name string, isMade bool) (string, error) {
	path := filepath.Clean(at.ExpandHome(name))
	if !filepath.IsAbs(path) {
		path = filepath.Join(at.Workspace, path)
	}
	_, err := cage.FollowLinks(path, at.Workspace)
	if err == nil && isMade {
		err = os.MkdirAll(path, 0o755)
	}
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// splitHosts separates hosts on this machine, such as the key proxy, from all others. Hosts on this
// machine are reached directly through their ports. The others must be added to the proxy's list of hosts.
func splitHosts(hosts []string) (ports []uint16, others []string) {
	for _, host := range hosts {
		if at, err := netip.ParseAddrPort(host); err == nil && at.Addr().IsLoopback() {
			ports = append(ports, at.Port())
			continue
		}
		others = append(others, host)
	}
	return ports, others
}

// PrivateDir returns a temporary directory of the run, which Close removes. Programs in a cage can't write
// there, and can read only its subdirectory scope. PrivateDir returns "" if the cage is off or agents may
// gain privileges.
func (c *Cages) PrivateDir() string { return c.private }

// Trusted implements runner.Cages. In the cage, the script can't see files that an agent may have written.
func (c *Cages) Trusted(s runner.ScriptOrder) *cage.Cage {
	if c.isOff || c.neverHasAgents {
		return nil
	}
	if c.whyNone != "" {
		c.notices.note("cage: " + "the trusted script " + filepath.Base(s.Path) + " can access files of agents: " + c.whyNone)
		return nil
	}
	return cage.New(cage.Policy{IsTrusted: true, Hidden: c.agentPaths(), Network: cage.Network{IsOpen: true}})
}

// agentPaths returns the paths that agents can write, including worktrees that they were given.
func (c *Cages) agentPaths() []string {
	isDevice := func(path string) bool { return cage.IsWithin(path, "/dev") && path != "/dev/shm" }
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(slices.DeleteFunc(slices.Clone(c.policy.Writable), isDevice), c.worktrees...)
}
