package examplestest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// lasting is a test whose temporary folder is that of all tests.
type lasting struct {
	testing.TB
	dir string
}

func (l lasting) TempDir() string { return l.dir }

var release sync.Mutex // guards the folder that releaseFolder makes

// releaseFolder returns the folder of the action as a release tag has it.
func releaseFolder(t testing.TB) string {
	t.Helper()
	release.Lock()
	defer release.Unlock()
	dir := filepath.Join(sitetest.Builds, "release")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	shipped := sitetest.Raymond.Path(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return acttest.Release(lasting{t, dir}, shipped)
}
