package claude

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// oldest is the first version that reports and accepts all that this package
// relies on.
var oldest = version{2, 1, 128}

const howToInstall = "install it with `npm install -g @anthropic-ai/claude-code`"

// versionLimit bounds the version check, which takes a tenth of a second.
const versionLimit = 30 * time.Second

type version [3]int

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

var versionPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{1,6})\.(\d{1,6})\.(\d{1,6})`)
})

func parseVersion(out []byte) (version, bool) {
	m := versionPattern().FindSubmatch(out)
	if m == nil {
		return version{}, false
	}
	var v version
	for i := range v {
		v[i], _ = strconv.Atoi(string(m[i+1]))
	}
	return v, true
}

// cli is a CLI that can be used.
type cli struct {
	path    string // absolute
	version version
}

// String is the version and the path.
func (c cli) String() string { return fmt.Sprintf("%s at %s", c.version, c.path) }

// cli returns the CLI, after one check of its version. The order lends its
// directory and its mark. What people should know of it is said once.
func (b *Backend) cli(ctx context.Context, o runner.Order, say func(string)) (cli, *runner.Failure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.found.path != "" {
		return b.found, nil
	}
	path, fail := b.lookUp(ctx, say)
	if fail != nil {
		return cli{}, fail
	}
	v, fail := b.checkVersion(ctx, path, o)
	if fail != nil {
		return cli{}, fail
	}
	b.found = cli{path, v}
	say("agent CLI: Claude Code " + b.found.String())
	if tested, ok := parseVersion([]byte(b.Tested)); ok && tested.before(v) {
		say(fmt.Sprintf("Claude Code %s is newer than %s, the newest version that raymond was tested with", v, tested))
	}
	return b.found, nil
}

func (b *Backend) lookUp(ctx context.Context, say func(string)) (string, *runner.Failure) {
	name := b.Path
	if name == "" {
		name = "claude"
	}
	path, err := exec.LookPath(name)
	if err != nil && b.Path == "" && b.Installer != nil {
		if path, err = b.Installer.Install(ctx, say); err != nil && ctx.Err() != nil {
			return "", stopped()
		} else if err != nil {
			return "", machine("agent CLI not found, and not installed: %v; %s", err, howToInstall)
		}
	}
	if err == nil {
		// Agents work in directories of their own.
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", machine("agent CLI %q not found: %v; %s", name, err, howToInstall)
	}
	return path, nil
}

func stopped() *runner.Failure {
	return &runner.Failure{Class: runner.Stopped, Message: "stopped before the agent CLI was started"}
}

func (b *Backend) checkVersion(ctx context.Context, path string, o runner.Order) (version, *runner.Failure) {
	out := &proc.Tail{Max: 4096}
	exit, err := proc.Run(ctx, proc.Options{
		Path: path, Args: []string{"--version"}, Dir: o.Dir, Env: b.env(nil),
		MarkVar: runner.MarkVar, Mark: o.Mark, Stdout: out, Timeout: versionLimit,
		NoNewPrivs: b.NoNewPrivs,
	})
	switch {
	case err != nil:
		return version{}, notStarted(err)
	case exit.Ended == proc.ByStop:
		return version{}, stopped()
	}
	v, ok := parseVersion(out.Bytes())
	switch {
	case !ok:
		return v, machine("agent CLI %s does not tell its version (%s); %s", path, ending(exit, o), howToInstall)
	case v.before(oldest):
		return v, machine("agent CLI %s is version %s, want at least %s; %s", path, v, oldest, howToInstall)
	}
	return v, nil
}

func machine(format string, args ...any) *runner.Failure {
	return &runner.Failure{Class: runner.Machine, Message: fmt.Sprintf(format, args...)}
}
