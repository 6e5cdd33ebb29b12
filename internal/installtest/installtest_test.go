package installtest

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
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
