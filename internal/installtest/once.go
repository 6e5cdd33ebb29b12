package installtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// limit is the maximum time for an installation, including the wait for an installation by another test.
const limit = 15 * time.Minute

// once returns the directory with a name in the user's cache. If the directory doesn't exist, once creates
// a temporary directory, calls fill for it, and renames it. So the directory is either absent or complete.
// Concurrent callers, even in other processes, wait for each other.
func once(ctx context.Context, name string, fill func(ctx context.Context, dir string) error) (string, error) {
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
	if err := fill(ctx, work); err != nil {
		return "", err
	}
	return dir, os.Rename(work, dir)
}

// key returns a short hash of text for use in a folder name.
func key(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// exists reports whether os.Stat finds a file or directory at a path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
