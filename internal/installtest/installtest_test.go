package installtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
)

// ownCache gives the test a cache folder that is its own.
func ownCache(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, home)
	}
	return home
}

func TestManyWhoAskAtOnceShareOneInstallation(t *testing.T) {
	ownCache(t)
	var fills atomic.Int32
	fill := func(_ context.Context, dir string) error {
		fills.Add(1)
		return os.WriteFile(filepath.Join(dir, "program"), []byte("whole"), 0o600)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			dir, err := once(t.Context(), "tool", fill)
			if err != nil {
				t.Error(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "program")); string(got) != "whole" {
				t.Errorf("program: got %q, %v, want it whole", got, err)
			}
		})
	}
	all.Wait()
	if n := fills.Load(); n != 1 {
		t.Errorf("installations: got %d, want 1", n)
	}
}

func TestNothingHalfDoneIsLeft(t *testing.T) {
	home := ownCache(t)
	broken := errors.New("broken off")
	_, err := once(t.Context(), "tool", func(_ context.Context, dir string) error {
		_ = os.WriteFile(filepath.Join(dir, "program"), []byte("ha"), 0o600)
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("first try: got %v, want %v", err, broken)
	}
	left, err := filepath.Glob(filepath.Join(home, "*", "*", "program"))
	if err != nil || len(left) > 0 {
		t.Errorf("files after it: got %q, %v, want none", left, err)
	}
	if _, err := once(t.Context(), "tool", func(context.Context, string) error { return nil }); err != nil {
		t.Errorf("second try: got %v, want success", err)
	}
}

// TestAnotherLockIsAnotherInstallation: a changed pin must not find the old files.
func TestAnotherLockIsAnotherInstallation(t *testing.T) {
	ownCache(t)
	seen := map[string]bool{}
	for _, lock := range []string{`{"lockfileVersion":3,"packages":{}}`, `{"lockfileVersion":3,"packages":{"":{}}}`} {
		n := NPM{Name: "none", Files: fstest.MapFS{
			"package.json": {Data: []byte(`{}`)}, "package-lock.json": {Data: []byte(lock)},
		}}
		dir := n.Install(t)
		if seen[dir] {
			t.Errorf("folder of %s: got %s again, want another", lock, dir)
		}
		seen[dir] = true
		if got, err := os.ReadFile(filepath.Join(dir, "package-lock.json")); string(got) == "" {
			t.Errorf("lock in %s: got %q, %v, want %s", dir, got, err, lock)
		}
	}
}

// TestLooseLocksAreSeen is the test of a test.
func TestLooseLocksAreSeen(t *testing.T) {
	for _, lock := range []string{
		`{"packages":{"":{}}}`,
		`{"packages":{"":{},"node_modules/a":{"version":"^1","integrity":"sha512-x"}}}`,
		`{"packages":{"":{},"node_modules/a":{"version":"1.0.0","integrity":"sha1-x"}}}`,
		`{"packages":{"":{},"node_modules/a":{"version":"1.0.0","integrity":"sha512-x","resolved":"https://example.com/a"}}}`,
	} {
		var judge verdict
		NPM{Files: fstest.MapFS{"package-lock.json": {Data: []byte(lock)}}}.CheckPinned(&judge)
		if !judge.failed {
			t.Errorf("CheckPinned(%s): got no failure, want one", lock)
		}
	}
}

// verdict takes the failures of a check that is tested itself.
type verdict struct {
	testing.TB
	failed bool
}

func (*verdict) Helper() {}

func (v *verdict) Errorf(string, ...any) { v.failed = true }
