package action

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	clis "github.com/raymond-action/raymond-action/runner/clis"
)

// installation installs an agent CLI with npm into the runner's tool cache. It implements
// clis.Installer.
type installation struct {
	pin     clis.Pin
	input   string   // how an input sets the path of an installed CLI, for a message
	cache   string   // the tool cache
	version string   // "" for the pinned version
	env     []string // of npm
	isCaged bool     // npm runs in a cage, because an earlier agent may have replaced it
}

// Install returns the path of the CLI. If the CLI is missing, npm installs it, without running
// install scripts, which would download more. Install passes log lines about the start and the
// duration of the installation to say.
func (c installation) Install(ctx context.Context, say func(string)) (string, error) {
	version := cmp.Or(c.version, c.pin.Version())
	dir := filepath.Join(c.cache, c.pin.Folder, version, runtime.GOOS+"-"+runtime.GOARCH)
	if path, err := c.pin.Binary(dir); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	say("installing " + c.pin.Title + " " + version + " with npm, because none was found on PATH")
	began := time.Now()
	if err := c.fill(ctx, tmp, version); err != nil {
		return "", err
	}
	say(fmt.Sprintf("installed %s %s in %.1f s", c.pin.Title, version, time.Since(began).Seconds()))
	if _, err := c.pin.Binary(tmp); err != nil {
		return "", err
	}
	err = files.Rename(tmp, dir)
	path, missing := c.pin.Binary(dir)
	if missing == nil {
		err = nil // another job was faster, which is fine
	}
	return path, err
}

// fill makes npm install into dir: the pinned version from its lock file, which has a checksum for
// every file, or another exact version.
func (c installation) fill(ctx context.Context, dir, version string) error {
	command := "ci"
	if version == c.pin.Version() {
		if err := os.CopyFS(dir, c.pin.Files); err != nil {
			return err
		}
	} else {
		command = "install"
		manifest, err := json.Marshal(map[string]any{"private": true, "dependencies": map[string]string{c.pin.Package: version}})
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "package.json"), manifest, 0o600); err != nil {
			return err
		}
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("%w; install Node.js, or set the path of the agent CLI with %s", err, c.input)
	}
	cmd := exec.CommandContext(ctx, npm, command, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, c.env, &out, &out
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 2*time.Second
	if err := c.run(cmd); err != nil {
		return fmt.Errorf("npm %s %s@%s: %w: %s", command, c.pin.Package, version, err, npmReason(out.String()))
	}
	return nil
}

// run runs npm, in a cage if c.isCaged.
func (c installation) run(cmd *exec.Cmd) error {
	if !c.isCaged {
		return cmd.Run()
	}
	cache, err := os.MkdirTemp(filepath.Dir(cmd.Dir), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	cmd.Env = append(slices.Clone(cmd.Env), "npm_config_cache="+cache, "TMPDIR="+cache)
	if err := c.cage(cmd.Path, cmd.Dir, cache).StartInside(cmd.Start); err != nil {
		return err
	}
	return cmd.Wait()
}

// cage returns the cage of npm. npm can write only to the given directories, and read itself, node
// and its configuration files.
func (c installation) cage(npm string, folders ...string) *cage.Cage {
	read := append(cage.SystemPaths(), "/etc/resolv.conf")
	node, _ := exec.LookPath("node") // npm reports a missing node
	for _, program := range []string{npm, node} {
		at, _ := filepath.EvalSymlinks(program)
		read = append(read, filepath.Dir(program), filepath.Dir(at))
		if i := strings.LastIndex(at, "/node_modules/"); i >= 0 {
			read = append(read, at[:i+len("/node_modules")])
		}
	}
	for _, kv := range c.env {
		name, value, _ := strings.Cut(kv, "=")
		if info, err := os.Stat(value); err == nil && info.Mode().IsRegular() {
			read = append(read, value)
		} else if name == "HOME" {
			read = append(read, filepath.Join(value, ".npmrc"))
		}
	}
	return cage.New(cage.Policy{Readable: read, Writable: append(folders, os.DevNull, "/dev/tty"), Network: cage.Network{IsOpen: true}})
}

// mostNPM is the maximum number of bytes of npm's output in an error.
const mostNPM = 400

// npmReason returns the code and the reason from npm's error lines, in the format of newer and
// older versions, without the location of its log file. Without such lines it returns all output.
// The result is one line.
func npmReason(out string) string {
	var said []string
	for line := range strings.Lines(out) {
		for _, prefix := range []string{"npm error ", "npm ERR! "} {
			if rest, ok := strings.CutPrefix(line, prefix); ok && strings.TrimSpace(rest) != "" && !strings.Contains(rest, "complete log of this run") {
				said = append(said, strings.TrimSpace(rest))
			}
		}
	}
	if len(said) == 0 {
		return text.Truncate(strings.Join(strings.Fields(out), " "), mostNPM)
	}
	return text.Truncate(strings.Join(said, "; "), mostNPM)
}
