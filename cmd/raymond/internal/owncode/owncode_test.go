package owncode_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/owncode"
)

// shipped is the name of a release's program for this machine.
var shipped = "raymond-" + runtime.GOOS + "-" + runtime.GOARCH + map[string]string{"windows": ".exe"}[runtime.GOOS]

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// built is an action that is built from its sources, in a workspace.
func built(t *testing.T) (root string, code *owncode.Code) {
	t.Helper()
	root = t.TempDir()
	for _, name := range []string{"action.yml", "go.mod", "cmd/shim/post.js", "cmd/raymond/main.go", "examples/quickstart/START.sh", "README.md", ".git/config"} {
		write(t, filepath.Join(root, filepath.FromSlash(name)), "as it was")
	}
	program := filepath.Join(t.TempDir(), "raymond-build-x", "raymond")
	write(t, program, "the program")
	code, err := owncode.Take(program, filepath.Join(root, "cmd", "shim"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { code.Close() })
	return root, code
}

// TestSourcesThatAreBuiltAreGuarded: the post part compiles them again.
func TestSourcesThatAreBuiltAreGuarded(t *testing.T) {
	root, code := built(t)
	evil := []string{"cmd/raymond/evil.go", "cmd/raymond/main.go", "cmd/shim/bin/" + shipped, "examples/quickstart/START.sh", "go.mod", "vendor/modules.txt"}
	for _, name := range evil {
		write(t, filepath.Join(root, filepath.FromSlash(name)), "evil")
	}
	for _, name := range []string{"README.md", ".git/config", "notes.txt"} { // nothing of it is compiled
		write(t, filepath.Join(root, filepath.FromSlash(name)), "work")
	}
	var want []string
	for _, name := range evil {
		want = append(want, filepath.Join(root, filepath.FromSlash(name)))
	}
	if got := code.Changed(); !slices.Equal(got, want) {
		t.Errorf("changed: got %q, want %q", got, want)
	}
	if err := code.PutBack(want); err != nil {
		t.Fatal(err)
	}
	if got := code.Changed(); len(got) > 0 {
		t.Errorf("changed, after all was put back: got %q, want nothing", got)
	}
	if data, err := os.ReadFile(filepath.Join(root, "README.md")); err != nil || string(data) != "work" {
		t.Errorf("README.md: got %q, %v, want the work of the agent", data, err)
	}
}

// TestAFolderOfEndlessFilesIsToldOf, and nothing of the action is removed for it.
func TestAFolderOfEndlessFilesIsToldOf(t *testing.T) {
	root, code := built(t)
	first := filepath.Join(root, "cmd", "shim", "post.js")
	for i := range 20_001 { // names of one file are made fastest
		if err := os.Link(first, filepath.Join(root, "cmd", "shim", strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	changed := code.Changed()
	if !slices.Contains(changed, root) {
		t.Fatalf("changed: got %q, want the folder of the action", changed)
	}
	if err := code.PutBack(changed); err == nil {
		t.Error("put back: got success, want an error that names the folder")
	}
	if _, err := os.Stat(filepath.Join(root, "README.md")); err != nil {
		t.Errorf("README.md: got %v, want it left alone", err)
	}
}
