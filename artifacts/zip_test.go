package artifacts_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/raymond-action/raymond-action/artifacts"
)

// TestHonestFilesAreNoBombs: whatever a file holds, it is unpacked again under a
// ratio of 200, and mixed contents are packed well where they can be.
func TestHonestFilesAreNoBombs(t *testing.T) {
	noise, _ := io.ReadAll(io.LimitReader(rand.NewChaCha8([32]byte{}), 1<<20))
	line := bytes.Repeat([]byte("still waiting for the lock of the package manager\n"), 100_000)
	for name, tt := range map[string]struct {
		data []byte
		most int // bytes of the archive
	}{
		"empty":                   {nil, 400},
		"one line repeated":       {line, len(line)/90 + 300<<10},
		"zeros":                   {make([]byte, 20<<20), 20<<20/90 + 300<<10},
		"just over a stretch":     {make([]byte, 256<<10+1), 10 << 10},
		"noise":                   {noise, 1<<20 + 10<<10},
		"zeros, noise, zeros":     {append(append(make([]byte, 3<<20), noise...), make([]byte, 3<<20)...), 2 << 20},
		"a line, noise, the line": {append(append(bytes.Clone(line), noise...), line...), 2 << 20},
	} {
		files := fstest.MapFS{"a/first": {Data: []byte("x")}, "file": {Data: tt.data}, "last": {Data: []byte("y")}}
		var out bytes.Buffer
		if err := artifacts.Pack(&out, files); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		dir := t.TempDir()
		lim := artifacts.Limits{Entries: 3, Entry: 64 << 20, Total: 64 << 20, Ratio: 200}
		if err := artifacts.Unpack(bytes.NewReader(out.Bytes()), int64(out.Len()), dir, lim); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := os.ReadFile(filepath.Join(dir, "file"))
		if err != nil || !bytes.Equal(got, tt.data) {
			t.Errorf("%s: %d bytes came back as %d others, %v", name, len(tt.data), len(got), err)
		}
		if out.Len() > tt.most {
			t.Errorf("%s: packed to %d bytes, want at most %d", name, out.Len(), tt.most)
		}
	}
}

// TestPackerRefusesWhatUnpackDoes holds for names.
func TestPackerRefusesWhatUnpackDoes(t *testing.T) {
	for _, names := range [][]string{
		{"../a"}, {"/a"}, {`a\b`}, {"a:b"}, {"a\x7f"}, {"a\u0085"}, {"a//b"}, {""}, {"."}, {"a/"}, {"\xff"}, {strings.Repeat("x", 256)},
		{"a", "a"}, {"a", "A"}, {"k", "\u212a"}, {"a", "a/b"}, {"a/b", "a"}, {"a/b", "A"}, {"x/a/b", "x/A"},
	} {
		p := artifacts.NewPacker(io.Discard)
		var err error
		for _, name := range names {
			err = errors.Join(err, p.Add(name, strings.NewReader("x")))
		}
		if err == nil {
			t.Errorf("%q: got no error", names)
		}
	}
}

// TestBlame: an archive that is wrong is told from a machine that is.
func TestBlame(t *testing.T) {
	var out bytes.Buffer
	if err := artifacts.Pack(&out, fstest.MapFS{"a": {Data: []byte("one")}, "b": {Data: bytes.Repeat([]byte("abc"), 1000)}}); err != nil {
		t.Fatal(err)
	}
	unpack := func(data []byte, dir string, lim artifacts.Limits) error {
		return artifacts.Unpack(bytes.NewReader(data), int64(len(data)), dir, lim)
	}
	broken := bytes.Clone(out.Bytes())
	broken[bytes.Index(broken, []byte("a"))+3] ^= 0xff
	picky := limits
	picky.Check = func(name string, size int64) error {
		if name == "b" && size == 3000 {
			return errors.New("no b here")
		}
		return nil
	}
	for what, err := range map[string]error{
		"a changed byte": unpack(broken, t.TempDir(), limits),
		"cut off":        unpack(out.Bytes()[:out.Len()-5], t.TempDir(), limits),
		"a check":        unpack(out.Bytes(), t.TempDir(), picky),
	} {
		var malformed *artifacts.Malformed
		if !errors.As(err, &malformed) {
			t.Errorf("%s: got %v, want a *Malformed", what, err)
		}
	}
	var machine *fs.PathError
	if err := unpack(out.Bytes(), filepath.Join(t.TempDir(), "none"), limits); !errors.As(err, &machine) {
		t.Errorf("no folder: got %v, want a *PathError", err)
	}
	taken := t.TempDir()
	if err := os.WriteFile(filepath.Join(taken, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var malformed *artifacts.Malformed
	if err := unpack(out.Bytes(), taken, limits); errors.As(err, &malformed) || err == nil {
		t.Errorf("a file in the way: got %v, want an error that doesn't blame the archive", err)
	}
}

// TestFoldersOfOthers: other programs write entries for folders, before what is in
// them or not at all.
func TestFoldersOfOthers(t *testing.T) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range []string{"a/", "a/b/", "a/b/c", "d/e"} {
		if _, err := z.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := artifacts.Unpack(bytes.NewReader(out.Bytes()), int64(out.Len()), dir, limits); err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(os.DirFS(dir), "a/b/c", "d/e"); err != nil {
		t.Error(err)
	}
}
