package installtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// ownCache gives the test a cache folder that is its own.
func ownCache(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, home)
	}
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

// TestAProgramIsBuiltFromItsSourcesOfNow: what is kept is linked, and never stale; what was
// handed out stays as it is.
func TestAProgramIsBuiltFromItsSourcesOfNow(t *testing.T) {
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	t.Setenv("GOFLAGS", "-race -mod=mod")
	t.Setenv("CGO_ENABLED", "0") // with which -race is an error
	ownCache(t)
	t.Chdir(t.TempDir())
	p := Program{Name: "says", Package: "example.test/says", Flags: []string{"-ldflags=-s -w"}}
	build := func(text string) (path string) {
		t.Helper()
		main := "package main\n\nfunc main() { println(" + strconv.Quote(text) + ") }\n"
		if err := errors.Join(os.WriteFile("go.mod", []byte("module example.test/says\n"), 0o600), os.WriteFile("main.go", []byte(main), 0o600)); err != nil {
			t.Fatal(err)
		}
		path, err := p.Build(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	paths := []string{build("one"), build("one"), build("two")}
	var built []os.FileInfo
	for i, want := range []string{"one\n", "one\n", "two\n"} {
		out, err := exec.CommandContext(t.Context(), paths[i]).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("program %d: got %q, %v, want %q", i, out, err, want)
		}
		info, err := os.Stat(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		built = append(built, info)
	}
	if !os.SameFile(built[0], built[1]) {
		t.Error("a program with the same sources: got it built again, want a link to what is kept")
	}
}
