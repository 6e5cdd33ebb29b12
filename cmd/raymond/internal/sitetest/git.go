package sitetest

import (
	"os"
	"path/filepath"
	"testing"
)

// WithoutGit returns a PATH on which there is no git. All other programs are where they were.
func WithoutGit(t testing.TB) (path string) {
	t.Helper()
	dir := t.TempDir()
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from)
		for _, e := range entries {
			if e.Name() != "git" {
				_ = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())) // the first one counts
			}
		}
	}
	return dir
}
