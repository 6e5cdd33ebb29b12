package installtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// limit is the maximum time for an installation, including the wait for an installation by another test.
const limit = 15 * time.Minute

// installOnce returns the directory with a name in the user's cache. If the directory doesn't exist,
// installOnce installs the packages in a temporary directory and renames it. So the directory is either
// absent or complete. Concurrent callers, even in other processes, wait for each other.
func (n NPM) installOnce(ctx context.Context, name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "raymond-action")
	dir := filepath.Join(home, name)
	if exists(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	defer lock.Close()
	if exists(dir) {
		return dir, nil
	}
	work, err := os.MkdirTemp(home, "installing-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, n.Files); err != nil {
		return "", err
	}
	command := "ci"
	if n.ByHand != "" {
		command = "install"
	}
	cmd := exec.CommandContext(ctx, "npm", command, "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return dir, os.Rename(work, dir)
}

// exists reports whether os.Stat finds a file or directory at a path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
