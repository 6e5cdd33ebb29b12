package mermaidtest

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// Files holds package.json and package-lock.json, which pin Mermaid.
//
//go:embed package.json package-lock.json
var Files embed.FS

// installLimit bounds the wait for another test's install and our own.
const installLimit = 5 * time.Minute

// Install returns a folder with the pinned Mermaid in its node_modules. The
// first call on a machine fills it with npm, in the user's cache folder. It ends
// the test when that does not work, naming the command to run by hand.
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
	lock, err := Files.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(home, "mermaid-"+hex.EncodeToString(sum[:6]))
	if err := install(t.Context(), dir); err != nil {
		t.Fatalf("install Mermaid: %v\nby hand: cd runner/diagram/mermaidtest && npm ci --ignore-scripts", err)
	}
	return dir
}

// install fills dir unless it is there. It appears by a rename, so it is absent
// or whole.
func install(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	defer lock.Close()
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, Files); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return os.Rename(work, dir)
}
