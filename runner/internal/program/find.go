package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// versionLimit bounds the version check. The slowest takes some seconds on an idle machine.
const versionLimit = 2 * time.Minute

// Installer installs an agent CLI.
type Installer interface {
	// Install returns the path of a CLI that can be run. It is called once at a
	// time, before the first invocation, and calls say with what it does, a line
	// for the log each time. It returns soon after ctx is done.
	Install(ctx context.Context, say func(line string)) (path string, err error)
}

// Source is which program an agent CLI is, and which versions of it are good.
type Source struct {
	Backend string   // one of protocol.Backends
	Title   string   // for people
	Name    string   // of the program, on PATH
	HowTo   string   // install it, for people, as in "install it with `npm install -g x`"
	Oldest  Version  // that reports and accepts all that is relied on
	Env     []string // in which it tells its version
}

// Found is an agent CLI that can be used.
type Found struct {
	Title   string // of the source
	Path    string // absolute
	Version Version
}

// String is the name, the version and the path.
func (f Found) String() string { return fmt.Sprintf("%s %s at %s", f.Title, f.Version, f.Path) }

// Find returns the CLI, after one check of its version. The order lends its cage, its
// environment and its mark. What people should know of it is said once.
func (c *CLI) Find(ctx context.Context, s Source, o runner.Order, say func(string)) (Found, *runner.Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found.Path != "" {
		return c.found, nil
	}
	path, fail := c.lookUp(ctx, s, say)
	if fail != nil {
		return Found{}, fail
	}
	v := c.checked
	if v == (Version{}) {
		if v, fail = c.checkVersion(ctx, s, path, o); fail != nil {
			return Found{}, fail
		}
	}
	c.found = Found{s.Title, path, v}
	say("agent CLI: " + c.found.String())
	if tested, ok := ParseVersion([]byte(c.Tested)); ok && tested.Before(v) {
		say(fmt.Sprintf("%s %s is newer than %s, the newest version that raymond was tested with", s.Title, v, tested))
	}
	return c.found, nil
}

// Check looks for the CLI before anything is started, unless it would be installed. isFree says that nothing is confined: then
// its version is checked, too.
func (c *CLI) Check(ctx context.Context, s Source, isFree bool) *runner.Failure {
	if c.Path == "" && c.Installer != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	path, fail := c.lookUp(ctx, s, nil)
	if fail == nil && isFree {
		c.checked, fail = c.checkVersion(ctx, s, path, runner.Order{})
	}
	return fail
}

func (c *CLI) lookUp(ctx context.Context, s Source, say func(string)) (string, *runner.Failure) {
	name := cmp.Or(c.Path, s.Name)
	path, err := exec.LookPath(name)
	if err != nil && c.Path == "" && c.Installer != nil {
		if path, err = c.Installer.Install(ctx, say); err != nil && ctx.Err() != nil {
			return "", Stopped()
		} else if err != nil {
			return "", Machine("agent CLI not found, and not installed: %v; %s", err, s.HowTo)
		}
	}
	if err == nil {
		// Agents work in directories of their own.
		path, err = filepath.Abs(path)
	}
	if err != nil {
		if why, ok := errors.AsType[*exec.Error](err); ok { // it says the name again
			err = why.Err
		}
		return "", Machine("agent CLI %q not found: %v; %s", name, err, s.HowTo)
	}
	return path, nil
}

func (c *CLI) checkVersion(ctx context.Context, s Source, path string, o runner.Order) (Version, *runner.Failure) {
	// Nothing of the directory that agents work in has a say in it.
	empty, err := os.MkdirTemp("", "raymond-")
	if err != nil {
		return Version{}, Machine("temporary folder: %v", err)
	}
	defer os.RemoveAll(empty)
	out := &proc.Tail{Max: 4096}
	exit, err := proc.Run(ctx, proc.Options{
		Path: path, Args: []string{"--version"}, Dir: empty, Env: slices.Concat(s.Env, o.Env),
		Mark: o.Mark, Stdout: out, Timeout: versionLimit,
		NoNewPrivs: c.NoNewPrivs, Cage: o.Cage,
	})
	switch {
	case err != nil:
		return Version{}, StartFailure(err, s.HowTo)
	case exit.Ended == proc.ByStop:
		return Version{}, Stopped()
	}
	v, ok := ParseVersion(out.Bytes())
	switch {
	case !ok && o.Cage != nil && strings.Contains(string(exit.StderrEnd()), "ermission denied"):
		return v, Machine("agent CLI %s does not tell its version (%s); if the cage keeps it from its own files, add their folder to cage-read", path, DescribeExit(exit, o))
	case !ok:
		return v, Machine("agent CLI %s does not tell its version (%s); %s", path, DescribeExit(exit, o), s.HowTo)
	case v.Before(s.Oldest):
		return v, Machine("agent CLI %s is version %s, want at least %s; %s", path, v, s.Oldest, s.HowTo)
	}
	return v, nil
}
