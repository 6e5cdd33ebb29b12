// Package confine says what the cage of a run is: which files agents, done_when
// commands and caged scripts may read and write, what they may reach, and what of
// that this system can't hold.
package confine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"github.com/raymond-action/raymond-action/runner"
)

// Site is where a run takes place, as far as its cage depends on that. All paths are absolute.
type Site struct {
	Environ   []string // of agents
	Dir       string   // where the run works
	Workspace string   // what folders that a user names are relative to
	Temp      string   // the job's temporary folder; "" where there is none
	Hidden    []string // run files, command files and the like
	Guarded   []string // what nobody may write: the action's own code
	Readable  []string // what is needed besides
	// Needs are those of the agent CLIs. Their hosts are reached whatever the user names.
	Needs runner.Needs
	// NeverHasAgents says that nothing of agents is there, and nobody comes whom a cage is for.
	NeverHasAgents bool
	// MayGainPrivileges says that agents may gain privileges, which nobody in a cage can.
	MayGainPrivileges bool
	// BeforeStart is called with the folders that agents can write before each agent, check or untrusted script starts, also without
	// a cage. If it fails, nothing starts. It may be nil.
	BeforeStart func(writable []string) error
	// Label is what the user calls a flag of the cage.
	Label func(flag string) string
	// Info is told of refusals and of what is not held, a line each, from any goroutine.
	Info func(line string)
	// Warn is told of what agents will miss, and of what isn't held though somebody asked for it.
	Warn func(line string)

	own   string   // the run's own temporary folder, as makeOwn has made it
	write []string // what a user lets agents write, without links, and what agent CLIs need
}

// Cages are the cages of a run. They may be used by many goroutines.
type Cages struct {
	isOff   bool   // nobody wants one
	none    string // why there is none; "" where there is
	policy  cage.Policy
	env     []string
	own     string         // the run's own temporary folder
	top     string         // of the worktree that the run works in; "" for none
	commons []string       // git's folders that the run may write
	proxy   *forward.Proxy // nil where the network is open
	told    *told
	isClean bool
	never   []string // paths that agents never write, whatever a user names
	private string   // the result of Private
	begin   func(writable []string) error

	mu        sync.Mutex // guards worktrees
	worktrees []string   // beside the working directories, that agents were given
}

var _ runner.Cages = (*Cages)(nil)

// New makes the cages of a run, before anything of it is started. The caller closes them.
func New(wish options.Cage, at Site) (*Cages, error) {
	c := &Cages{told: &told{label: at.Label, tell: at.Info, loud: at.Warn}, isClean: at.NeverHasAgents, begin: at.BeforeStart}
	switch {
	case wish.IsOff():
		c.isOff = true
		return c, nil
	case at.MayGainPrivileges:
		c.none = "agents may gain privileges"
		return c, nil
	}
	err := c.build(wish, at)
	if err == nil {
		err = c.compare(wish.Mode)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// build says what the cages are.
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
	p := &c.policy
	p.OnEnd = recordModes(slices.Concat(p.Readable, p.Hidden, p.Writable, c.never, []string{c.private}, ofRunner()), p.Writable)
	if err := c.setNetwork(wish, at); err != nil {
		return err
	}
	// What the cage allows, for agents that wonder why something failed.
	may := slices.DeleteFunc(slices.Clone(c.policy.Writable), func(path string) bool { return cage.IsWithin(path, "/dev") })
	network := strings.Join(strings.Fields(cmp.Or(wish.Network, "open")), " ")
	c.env = append(c.env, "RAYMOND_CAGE=writable: "+strings.Join(may, ":")+"; network: "+network)
	return nil
}

// setFiles sets which files the policy lets programs read and write.
func (c *Cages) setFiles(wish options.Cage, at Site) error {
	// Work that was put back may have a link in the place of the working directory.
	if _, err := cage.FollowLinks(at.Dir, at.Workspace); err != nil {
		return &problem.Problem{Class: problem.ClassDenied, Where: "working directory", What: at.Dir + ": " + err.Error()}
	}
	writable, err := named(wish.Writable, "cage-write", at)
	readable, more := named(wish.Readable, "cage-read", at)
	if err = errors.Join(err, more); err != nil {
		return err
	}
	at.own, c.never = c.own, cage.ResolveAll(slices.Concat(at.Hidden, at.Guarded))
	at.Readable = slices.Concat(at.Readable, at.Needs.Read, readable, []string{filepath.Join(c.private, "scope")})
	at.write = slices.Concat(at.Needs.Write, writable)
	git, commons := workspace.GitDirs(cage.Resolve(at.Dir))
	k := keep{at.kept(), cage.ResolveAll(at.Hidden)}
	shown := slices.Concat(toolchains(at.home()), at.onPath(k), at.Readable)
	c.policy, c.commons, c.top = at.files(git, shown, k), commons, at.top()
	if err := at.makeHome(append(shown, at.write...)); err != nil {
		return problem.OfMachine("home folder of the agents", err)
	}
	c.env = append(c.env, at.variables()...)
	if isIn(c.private, c.agents()) {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "temporary folder", What: filepath.Dir(c.private) + " lies where agents can write", Hint: "set TMPDIR to a folder elsewhere"}
	}
	if unseen := at.unseen(); at.Temp != "" && len(unseen) > 0 {
		at.Info("cage: agents don't see " + strings.Join(unseen, ", ") + "; " + c.told.label("cage-write") + ": " + unseen[0] +
			" gives them one, and what they put there is used by later steps")
	}
	for _, path := range slices.Concat(at.Hidden, at.Guarded) {
		if r := cage.Resolve(path); r != "" && isIn(r, c.policy.Writable) {
			c.told.note("cage: agents can write " + path + ", since a folder that they may write contains it")
		}
	}
	for _, top := range Outermost(append(slices.Clone(commons), at.Dir)) {
		if err := unlink(top); err != nil {
			c.told.note("cage: files of " + top + " may be files of other folders as well, which agents can write then: " + err.Error())
		}
	}
	return nil
}

// setNetwork says what can be reached, and starts the proxy that knows the list.
func (c *Cages) setNetwork(wish options.Cage, at Site) error {
	n := &c.policy.Network
	n.IsOpen, n.OnRefused = wish.Network == "", c.told.refusedAddress
	if n.IsOpen {
		return nil
	}
	list, err := forward.Parse(wish.Network)
	if err != nil {
		return problem.Usage(c.told.label("network"), err.Error(), "")
	}
	ports, hosts := apart(at.Needs.Hosts)
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
	c.proxy, err = forward.Start(forward.Options{List: all, Getenv: getenv, OnRefused: c.told.refusedHost})
	if err != nil {
		return problem.OfMachine("proxy of the cage", err)
	}
	n.Ports = slices.Concat(ports, list.LoopbackPorts(), []uint16{c.proxy.Port()})
	c.env = append(c.env, forward.Env(list, c.proxy.Port())...)
	return nil
}

// compare says what this system can't hold of the policy, and returns an error where
// that must not be.
func (c *Cages) compare(mode string) error {
	var whole []string
	hint := "run it on Linux with Landlock and seccomp, or set it to on, which holds what can be held"
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
			c.told.once(line, c.told.loud)
		} else {
			c.told.note(line)
		}
	}
	if cage.EntryProgram == "" {
		c.none, c.env = "this system has none", nil
	}
	if mode != options.CageRequire || len(whole) == 0 {
		return nil
	}
	return &problem.Problem{Class: problem.ClassRuntime, Where: c.told.label("cage"), What: "this machine can't hold what it asks for: " + strings.Join(whole, "; "), Hint: hint}
}

// Env implements runner.Cages.
func (c *Cages) Env() []string { return c.env }

// Agent implements runner.Cages.
func (c *Cages) Agent(dir string) *cage.Cage { return c.at(dir) }

// Script implements runner.Cages.
func (c *Cages) Script(dir string, s runner.ScriptOrder) *cage.Cage {
	if c.none != "" {
		c.told.note("cage: " + filepath.Base(s.Path) + " asks for one and runs without: " + c.none)
	}
	return c.at(dir, append(slices.Collect(maps.Keys(s.Files)), filepath.Dir(s.Path))...)
}

// at is the cage of what works in a directory, and reads some files besides; nil where there is none.
func (c *Cages) at(dir string, readable ...string) *cage.Cage {
	isCaged := !c.isOff && c.none == ""
	p, err := c.policy, error(nil)
	if isCaged {
		p, err = c.in(dir)
	}
	if err == nil && c.begin != nil {
		err = c.begin(c.agents())
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

// in returns the policy for programs in the working directory dir. If dir is in a linked worktree of a repository that the run
// may write, that worktree becomes writable. Other folders of the run's own worktree are read-only; folders outside are refused.
func (c *Cages) in(dir string) (cage.Policy, error) {
	p := c.policy
	at := cage.Resolve(dir)
	if at == "" || isIn(at, p.Writable) {
		return p, nil
	}
	if top := workspace.LinkedWorktree(at, c.commons); top != "" {
		p.Writable = append(slices.Clone(p.Writable), top)
		c.mu.Lock()
		defer c.mu.Unlock()
		if !slices.Contains(c.worktrees, top) {
			c.worktrees = append(c.worktrees, top)
		}
		return p, nil
	}
	hint := "add it to " + c.told.label("cage-write") + " to make it writable"
	if !cage.IsWithin(at, c.top) {
		return p, fmt.Errorf("%w: the working directory %s is out of the workspace; %s", fs.ErrPermission, at, hint)
	}
	c.told.note("cage: the working directory " + at + " is read-only; " + hint)
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
	case isIn(at, c.never): // no input can allow writing there
		c.told.note("cage: refused access to " + path + ": " + never)
	case at == cage.Resolve(path) && !c.policy.CanRead(at) && canAccess(at, toRead):
		c.told.note("cage: refused to read " + path + "; if it is needed, add it to " + c.told.label("cage-read"))
	case canAccess(at, toWrite): // else it wasn't the cage
		c.told.note("cage: refused to write " + path + "; if it is needed, add its folder to " + c.told.label("cage-write"))
	}
}

// Notes are what people are told of the cage at the end: what it didn't hold, and what
// it refused, each once.
func (c *Cages) Notes() []string { return c.told.all() }

// removal is how long the end of a run waits for its temporary folder to be removed.
const removal = 5 * time.Second

// Close ends the proxy and removes the run's own folder, when all that ran in the
// cages has ended.
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
		_ = os.RemoveAll(c.own) // what agents put there may resist; the runner removes its folder
	}()
	select {
	case <-gone:
	case <-time.After(removal):
	}
}

// never is the reason why no input lets agents write a path.
const never = "agents never write there: it holds files of the run, of the runner or of an action"

// named are the paths that a user names, without links. Folders that are to be written are made where they are missing.
func named(names []string, flag string, at Site) ([]string, error) {
	var out []string
	var errs []error
	for _, name := range names {
		path, err := at.locate(name, flag == "cage-write")
		isAround := func(k string) bool { r := cage.Resolve(k); return cage.IsWithin(r, path) || cage.IsWithin(path, r) }
		switch {
		case errors.Is(err, fs.ErrNotExist) && flag == "cage-read":
			at.Info("cage: " + at.Label(flag) + ": " + name + " is not there")
			continue
		case err == nil && flag == "cage-write" && slices.ContainsFunc(slices.Concat(at.Hidden, at.Guarded), isAround):
			err = errors.New(never)
		}
		if err != nil {
			errs = append(errs, problem.Usage(at.Label(flag), name+": "+err.Error(), ""))
			continue
		}
		out = append(out, path)
	}
	return out, errors.Join(errs...)
}

// locate returns a path that a user names, without links. A path that is not absolute is one of the workspace. A folder is
// made first where it is wanted and missing.
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
