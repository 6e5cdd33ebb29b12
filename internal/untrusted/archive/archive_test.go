package archive_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// TestBlame checks that errors in an archive can be distinguished from errors of the machine.
func TestBlame(t *testing.T) {
	good := pack(t, "a", "one", "b", strings.Repeat("abc", 1000))
	broken := bytes.Clone(good)
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
		"cut off":        unpack(good[:len(good)-5], t.TempDir(), limits),
		"a check":        unpack(good, t.TempDir(), picky),
	} {
		var malformed *archive.Malformed
		assert.Check(t, errors.As(err, &malformed), "%s: got %v, want a *Malformed", what, err)
	}
	var machine *fs.PathError
	err := unpack(good, filepath.Join(t.TempDir(), "none"), limits)
	assert.Check(t, errors.As(err, &machine), "no folder: got %v, want a *PathError", err)
	taken := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(taken, "a"), nil, 0o600))
	var malformed *archive.Malformed
	if err := unpack(good, taken, limits); errors.As(err, &malformed) || err == nil {
		t.Errorf("a file in the way: got %v, want an error that doesn't blame the archive", err)
	}
}

var limits = archive.Limits{Entries: 10, Entry: 4 << 20, Total: 8 << 20}

// TestPackedFilesAreUnpacked checks that Unpack accepts archives that Packer wrote, and archives with
// entries for directories.
func TestPackedFilesAreUnpacked(t *testing.T) {
	first := pack(t, "state.json", "{}", "a/b/c.jsonl", strings.Repeat("x\n", 1000), "a/empty", "")
	assert.Check(t, bytes.Equal(first, pack(t, "state.json", "{}", "a/b/c.jsonl", strings.Repeat("x\n", 1000), "a/empty", "")), "the same files give different archives")
	var others bytes.Buffer
	z := zip.NewWriter(&others)
	var errs []error
	for _, name := range []string{"a/", "a/b/", "a/b/c.jsonl", "d/e"} {
		_, err := z.Create(name)
		errs = append(errs, err)
	}
	assert.NilError(t, errors.Join(append(errs, z.Close())...))
	dir, another := t.TempDir(), t.TempDir()
	assert.NilError(t, errors.Join(unpack(first, dir, limits), unpack(others.Bytes(), another, limits)))
	assert.Check(t, errors.Join(fstest.TestFS(os.DirFS(dir), "state.json", "a/b/c.jsonl", "a/empty"), fstest.TestFS(os.DirFS(another), "a/b/c.jsonl", "d/e")))
	got, _ := os.ReadFile(filepath.Join(dir, "a/b/c.jsonl"))
	assert.Check(t, is.Equal(string(got), strings.Repeat("x\n", 1000)), "a file came back changed")
}

// pack returns an archive. Its files are given as pairs of name and content.
func pack(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	p := archive.NewPacker(&b)
	for i := 0; i < len(files); i += 2 {
		assert.NilError(t, p.Add(files[i], strings.NewReader(files[i+1])))
	}
	assert.NilError(t, p.Close())
	return b.Bytes()
}

func unpack(data []byte, dir string, lim archive.Limits) error {
	return archive.Unpack(bytes.NewReader(data), int64(len(data)), dir, lim)
}

// TestHostileArchives checks that Unpack writes nothing if an entry breaks a rule, and that Packer rejects
// the same names.
func TestHostileArchives(t *testing.T) {
	type entry struct {
		name string
		mode os.FileMode
		size int
	}
	const mib = 1 << 20
	for _, tt := range []struct {
		name    string
		want    string
		entries []entry
	}{
		{"leaves the folder", "not a path inside", []entry{{name: "ok"}, {name: "../evil"}}},
		{"leaves it later", "not a path inside", []entry{{name: "ok"}, {name: "a/../../evil"}}},
		{"absolute", "an absolute name", []entry{{name: "ok"}, {name: "/evil"}}},
		{"backslash", "a backslash", []entry{{name: "ok"}, {name: `..\evil`}}},
		{"drive", "a colon", []entry{{name: "ok"}, {name: "C:evil"}}},
		{"control character", "a control character", []entry{{name: "ok"}, {name: "a\x01"}}},
		{"long name", "more than 255 bytes", []entry{{name: "ok"}, {name: strings.Repeat("x", 256)}}},
		{"link", "not a regular file", []entry{{name: "ok"}, {name: "l", mode: os.ModeSymlink | 0o777}}},
		{"pipe", "not a regular file", []entry{{name: "ok"}, {name: "p", mode: os.ModeNamedPipe | 0o600}}},
		{"another user's rights", "special permissions", []entry{{name: "ok"}, {name: "s", mode: os.ModeSetuid | 0o755}}},
		{"another group's rights", "special permissions", []entry{{name: "ok"}, {name: "s", mode: os.ModeSetgid | 0o755}}},
		{"twice", "exists twice", []entry{{name: "ok"}, {name: "ok"}}},
		{"differs in case only", "exists twice", []entry{{name: "ok"}, {name: "OK"}}},
		{"a letter of the same case", "exists twice", []entry{{name: "k"}, {name: "\u212a"}}},
		{"a file and a folder", "", []entry{{name: "a"}, {name: "A/b"}}},
		{"a folder and a file", "", []entry{{name: "x/a/b"}, {name: "x/A"}}},
		{"nothing", "not a path inside", []entry{{name: "ok"}, {name: ""}}},
		{"no UTF-8", "", []entry{{name: "ok"}, {name: "\xff"}}},
		{"dots", "not a path inside", []entry{{name: "ok"}, {name: "a/./b"}}},
		{"too large", "unpacks to more than 4 MiB", []entry{{name: "ok"}, {name: "big", size: 4*mib + 1}}},
		{"too large in all", "over 8 MiB", []entry{{name: "a", size: 3 * mib}, {name: "b", size: 3 * mib}, {name: "c", size: 3 * mib}}},
		{"too many", "more than 10", []entry{{name: "1"}, {name: "2"}, {name: "3"}, {name: "4"}, {name: "5"}, {name: "6"}, {name: "7"}, {name: "8"}, {name: "9"}, {name: "10"}, {name: "11"}}},
	} {
		var buf bytes.Buffer
		z, p, made, isOfNames := zip.NewWriter(&buf), archive.NewPacker(io.Discard), error(nil), true
		for _, e := range tt.entries {
			made = errors.Join(made, p.Add(e.name, strings.NewReader("")))
			isOfNames = isOfNames && e.mode == 0 && e.size == 0 && tt.name != "too many"
			h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
			h.SetMode(max(e.mode, 0o600))
			w, err := z.CreateHeader(h)
			assert.NilError(t, err)
			io.CopyN(w, rand.NewChaCha8([32]byte{}), int64(e.size))
		}
		z.Close()
		assert.Check(t, is.Equal(made != nil, isOfNames), "%s: made: %v", tt.name, made)
		dir := t.TempDir()
		assert.Check(t, is.ErrorContains(unpack(buf.Bytes(), dir, limits), tt.want), tt.name)
		left, _ := os.ReadDir(dir)
		assert.Check(t, is.Len(left, 0), "%s: %d files were written", tt.name, len(left))
	}
}

// FuzzUnpack checks that Unpack writes nothing outside of its directory.
func FuzzUnpack(f *testing.F) {
	f.Add(pack(f, "a/b", "x", "c", ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "in")
		assert.NilError(t, os.Mkdir(dir, 0o700))
		_ = unpack(data, dir, limits)
		left, _ := os.ReadDir(parent)
		assert.Check(t, is.Len(left, 1), "%d entries beside the folder", len(left)-1)
	})
}

// patch returns an archive in which bytes of the last entry in its directory are overwritten.
func patch(data []byte, offset int, value ...byte) []byte {
	data = slices.Clone(data)
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	copy(data[at+offset:], value)
	return data
}

// TestOpenDistrustsHeaders checks that archives whose headers are wrong are rejected, also if entries share
// bytes or extend beyond the end.
func TestOpenDistrustsHeaders(t *testing.T) {
	good := pack(t, "START.md", strings.Repeat("x", 2<<20))
	small := pack(t, "START.md", "hello")
	two := pack(t, "a", "one", "b", "one")
	size := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"small size for much data": {patch(good, 24, size(10)...), "can't be read"},
		"large size":               {patch(small, 24, size(1<<30)...), "unpacks to more than"},
		"checksum":                 {patch(small, 16, size(1)...), "can't be read"},
		"encrypted":                {patch(small, 8, 1, 0), "is encrypted"},
		"strongly encrypted":       {patch(small, 8, 1<<6, 0), "is encrypted"},
		"masked headers":           {patch(small, 8, 0, 1<<5), "is encrypted"},
		"larger size":              {patch(small, 24, size(100)...), "can't be read"},
		"method":                   {patch(small, 10, 12, 0), "unknown method 12"},
		"cut":                      {small[:len(small)-5], "can't be read"},
		"no archive":               {[]byte("hello"), "can't be read"},
		"nothing":                  {nil, "can't be read"},
		"entries at one place":     {patch(two, 42, 0, 0, 0, 0), "shares bytes"},
		"beyond the end":           {patch(two, 20, 0, 1, 0, 0), "extends beyond the end"},
	} {
		z, err := archive.Open(bytes.NewReader(c.data), int64(len(c.data)), limits)
		if err == nil {
			for _, f := range z.File {
				_, readErr := archive.Read(f, limits.Entry)
				err = cmp.Or(err, readErr)
			}
		}
		var malformed *archive.Malformed
		assert.Check(t, errors.As(err, &malformed), "%s: got %v, want %s", name, err, c.want)
		assert.Check(t, is.Contains(malformed.What, c.want), name)
	}
}

// endless imitates an archive with a huge directory. It counts the bytes that are read.
type endless struct {
	tail []byte
	size int64
	read int64
}

func (e *endless) ReadAt(p []byte, at int64) (int, error) {
	e.read += int64(len(p))
	header := make([]byte, 46)
	copy(header, "PK\x01\x02")
	for i := range p {
		pos := at + int64(i)
		if from := e.size - int64(len(e.tail)); pos >= from {
			p[i] = e.tail[pos-from]
		} else {
			p[i] = header[pos%46]
		}
	}
	return len(p), nil
}

// TestOpenReadsLittle checks that Open rejects a huge directory without reading all of it.
func TestOpenReadsLittle(t *testing.T) {
	const entries = 10_000_000
	tail := binary.LittleEndian.AppendUint32(nil, 0x06054b50)
	for _, v := range []uint16{0, 0, entries & 0xffff, entries & 0xffff} {
		tail = binary.LittleEndian.AppendUint16(tail, v)
	}
	tail = binary.LittleEndian.AppendUint32(tail, entries*46)
	tail = binary.LittleEndian.AppendUint32(tail, 0)
	tail = binary.LittleEndian.AppendUint16(tail, 0)
	e := &endless{tail: tail, size: entries*46 + int64(len(tail))}
	_, err := archive.Open(e, e.size, limits)
	if err == nil || !strings.Contains(err.Error(), "list of entries") || e.read > 1<<20 {
		t.Errorf("archive of %d entries: got %v after %d bytes, want a refusal within 1 MiB", entries, err, e.read)
	}
}

// TestReadObeysItsLimit checks that Read rejects an entry that is too large, and allocates little memory
// for it.
func TestReadObeysItsLimit(t *testing.T) {
	data := pack(t, "START.md", strings.Repeat("x", 24<<20))
	z, err := archive.Open(bytes.NewReader(data), int64(len(data)), archive.Limits{Entries: 1, Entry: 1 << 30, Total: 1 << 30})
	assert.NilError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := archive.Read(z.File[0], 1<<20)
	runtime.ReadMemStats(&after)
	assert.Check(t, is.ErrorContains(err, "unpacks to more than 1 MiB"), "a bomb of %d bytes: got %d bytes, want a refusal for its size", len(data), len(got))
	used := after.TotalAlloc - before.TotalAlloc
	assert.Check(t, used <= 16<<20, "a bomb of %d bytes: got %d bytes allocated, want at most 16 MiB", len(data), used)
	if got, err := archive.Read(z.File[0], 24<<20); err != nil || len(got) != 24<<20 {
		t.Errorf("at the limit: got %d bytes, %v", len(got), err)
	}
}
