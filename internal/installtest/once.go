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

// limit bounds the wait for another test's installation and our own.
const limit = 15 * time.Minute

// once returns the folder of the given name in the user's cache, after fill has
// filled it. The folder appears by a rename: it is absent or whole. Whoever else
// asks for it meanwhile, in another process too, waits.
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

// key is short, and differs when the text does.
func key(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
