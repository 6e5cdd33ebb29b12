package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/raymond-action/raymond-action/runner/claude/pin"
)

// cliInstall puts the agent CLI into a runner's tool cache.
type cliInstall struct {
	cache   string // the tool cache
	version string // "" for the pinned one
	env     []string
}

// install returns the path of the CLI, after npm has put it there unless it is
// there already. Its install script, which would download, is not run.
func (c cliInstall) install(ctx context.Context) (string, error) {
	version := c.version
	if version == "" {
		version = pin.Version()
	}
	dir := filepath.Join(c.cache, "raymond-claude-code", version, runtime.GOOS+"-"+runtime.GOARCH)
	if path, err := pin.Binary(dir); err == nil {
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
	if err := c.fill(ctx, tmp, version); err != nil {
		return "", err
	}
	if _, err := pin.Binary(tmp); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := pin.Binary(dir); there != nil { // another job was faster
			return "", err
		}
	}
	return pin.Binary(dir)
}

// fill makes dir what npm makes of the pinned lock file, which has a checksum of
// everything, or of another exact version.
func (c cliInstall) fill(ctx context.Context, dir, version string) error {
	command := "ci"
	if version == pin.Version() {
		if err := os.CopyFS(dir, pin.Files); err != nil {
			return err
		}
	} else {
		command = "install"
		manifest, err := json.Marshal(map[string]any{"private": true, "dependencies": map[string]string{pin.Package: version}})
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "package.json"), manifest, 0o600); err != nil {
			return err
		}
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("%w; install Node.js, or name the agent CLI with claude-path", err)
	}
	cmd := exec.CommandContext(ctx, npm, command, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, c.env, &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm %s %s@%s: %w: %s", command, pin.Package, version, err, lastLine(out.String()))
	}
	return nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
