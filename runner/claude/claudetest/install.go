package claudetest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/raymond-action/raymond-action/runner/claude/pin"
)

// installLimit bounds the wait for another package's install and our own.
const installLimit = 5 * time.Minute

// Install returns the path of the pinned CLI's native program. The first call
// on a machine installs it with npm into the user's cache folder; packages
// tested in parallel wait for each other. It ends the test when that does not
// work, naming the command to run by hand.
func Install(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(cache, "raymond-action")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	path, err := install(filepath.Join(home, "claude-"+pin.Version()))
	if err != nil {
		t.Fatalf("install Claude Code %s: %v\nby hand: cd runner/claude/pin && npm ci --ignore-scripts",
			pin.Version(), err)
	}
	return path
}

// install fills dir unless it is there already. dir appears by a rename, so
// that it is either absent or complete.
func install(dir string) (string, error) {
	if path, err := pin.Binary(dir); err == nil {
		return path, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), installLimit)
	defer cancel()
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	defer lock.Close()
	if path, err := pin.Binary(dir); err == nil {
		return path, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := npmInstall(ctx, dir); err != nil {
		return "", err
	}
	return pin.Binary(dir)
}

// npmInstall runs npm in a folder beside dir and renames it to dir.
func npmInstall(ctx context.Context, dir string) error {
	work, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := fs.ReadFile(pin.Files, name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(work, name), data, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return os.Rename(work, dir)
}
