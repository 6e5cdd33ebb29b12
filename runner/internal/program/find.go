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
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// versionLimit is the maximum time for the version check. The slowest CLI needs some seconds on an idle
// machine.
const versionLimit = 2 * time.Minute

// Installer installs an agent CLI.
type Installer interface {
	// Install returns the path of a CLI that can be started. It is called before the first invocation, and
	// never by several goroutines at the same time. It passes lines about its progress to log. It returns
	// soon after ctx is done.
	Install(ctx context.Context, log func(line string)) (path string, err error)
}

// Source describes the program of an agent CLI, and which versions of it are supported.
type Source struct {
	Backend string   // name of the CLI, as in protocol.Backends
	Title   string   // name of the CLI for users, for example "Claude Code"
	Name    string   // name of the program on PATH
	HowTo   string   // how to install the CLI, as in "install it with `npm install -g x`"
	Oldest  Version  // the oldest version that supports all features that raymond needs
	Env     []string // the environment for the version check
}

// Found is an agent CLI whose version has been checked.
type Found struct {
	Title   string // title for users (Source.Title)
	Path    string // the absolute path of the program
	Version Version
}

// String returns the title, the version and the path.
func (f Found) String() string { return fmt.Sprintf("%s %s at %s", f.Title, f.Version, f.Path) }

// Find locates the CLI and checks its version, and passes lines about this to log. If an earlier call has
// succeeded, Find only returns its result again. The version check runs with the order's cage, environment
// and mark.
func (c *CLI) Find(ctx context.Context, s Source, o runner.Order, log func(string)) (Found, *runner.Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found.Path != "" {
		return c.found, nil
	}
	path, fail := c.lookUp(ctx, s, log)
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
	log("agent CLI: " + c.found.String())
	if tested, ok := ParseVersion([]byte(c.Tested)); ok && tested.Before(v) {
		log(fmt.Sprintf("%s %s is newer than %s, the newest version that raymond was tested with", s.Title, v, tested))
	}
	return c.found, nil
}

// Check locates the CLI before a run starts. It returns nil without a check if there is an Installer and Path
// is empty, because a missing CLI is then installed later. isFree is true if CLIs run without a cage. Check
// then also checks the version.
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

// lookUp returns the absolute path of the CLI. If the CLI is missing and there is an Installer, it
// installs the CLI.
func (c *CLI) lookUp(ctx context.Context, s Source, log func(string)) (string, *runner.Failure) {
	name := cmp.Or(c.Path, s.Name)
	path, err := exec.LookPath(name)
	if err != nil && c.Path == "" && c.Installer != nil {
		if path, err = c.Installer.Install(ctx, log); err != nil && ctx.Err() != nil {
			return "", Stopped()
		} else if err != nil {
			return "", Machine("agent CLI not found, and its installation failed: %v; %s", err, s.HowTo)
		}
	}
	if err == nil {
		// Agents work in other directories, where a relative path would name another file.
		path, err = filepath.Abs(path)
	}
	if err != nil {
		if why, ok := errors.AsType[*exec.Error](err); ok { // the error's text would repeat the name
			err = why.Err
		}
		return "", Machine("agent CLI %q not found: %v; %s", name, err, s.HowTo)
	}
	return path, nil
}

// checkVersion runs the CLI with --version. It returns a failure if the version is unknown or too old.
func (c *CLI) checkVersion(ctx context.Context, s Source, path string, o runner.Order) (Version, *runner.Failure) {
	// The check runs in an empty directory, so that files that agents wrote can't influence it.
	empty, err := os.MkdirTemp("", "raymond-")
	if err != nil {
		return Version{}, Machine("create a temporary folder: %v", err)
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
		return v, Machine("agent CLI %s does not report its version (%s); if the cage hides its files, add their folder to cage-read", path, DescribeExit(exit, o))
	case !ok:
		return v, Machine("agent CLI %s does not report its version (%s); %s", path, DescribeExit(exit, o), s.HowTo)
	case v.Before(s.Oldest):
		return v, Machine("agent CLI %s is version %s, but at least %s is required; %s", path, v, s.Oldest, s.HowTo)
	}
	return v, nil
}

// Version is the version of an agent CLI: its major, minor and patch number.
type Version [3]int

// String returns the version in the form "1.2.3".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool { return slices.Compare(v[:], w[:]) < 0 }

// versionPattern matches a version at the beginning of a text, after an optional name.
var versionPattern = text.Regexp(`^(?:[A-Za-z][A-Za-z0-9-]{0,40} v?)?(\d{1,6})\.(\d{1,6})\.(\d{1,6})`)

// ParseVersion parses the version at the beginning of a text. A name may precede the version, as in
// "name-cli 1.2.3". It returns false if there is no version.
func ParseVersion(out []byte) (Version, bool) {
	m := versionPattern().FindSubmatch(out)
	if m == nil {
		return Version{}, false
	}
	var v Version
	for i := range v {
		v[i], _ = strconv.Atoi(string(m[i+1]))
	}
	return v, true
}
