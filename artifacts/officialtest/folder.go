package officialtest

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Folder is the files of an artifact by their names, which have slashes.
type Folder map[string][]byte

// Folders returns artifacts by name, of sizes on both sides of the 8 MiB that go
// into one block of an upload. Some names are not ASCII.
func Folders() map[string]Folder {
	noise := make([]byte, 17<<20)                   // no compression makes it smaller
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // never fails
	return map[string]Folder{
		"one byte":              {"a": {'x'}},
		"nothing in it":         {"empty": {}},
		"5 MB":                  {"a": noise[:5_000_000]},
		"raymond-größe-日本語 (1)": {"state.json": []byte("{}"), "logs/ä/日本.jsonl": noise[:70_000], "leer": {}},
		"blocks":                {"a": noise[:8<<20+1], "b/c": noise[8<<20:]},
	}
}

// Write puts the files into a new folder and returns its path.
func (f Folder) Write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Check fails the test unless a folder holds these files, byte for byte, and no
// others.
func (f Folder) Check(t testing.TB, dir string) {
	t.Helper()
	got := Folder{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		got[name], err = fs.ReadFile(root, name)
		return err
	})
	if err != nil || !maps.EqualFunc(got, f, bytes.Equal) {
		t.Errorf("files of %s: got %v, %v, want %v with the right bytes", dir, got.sizes(), err, f.sizes())
	}
}

func (f Folder) sizes() map[string]int {
	all := map[string]int{}
	for name, data := range f {
		all[name] = len(data)
	}
	return all
}
