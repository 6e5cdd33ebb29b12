package files

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// place creates a file in a new directory and returns its path.
func place(t *testing.T, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(path, []byte(data), 0o600))
	return path
}

func TestReadObeysItsLimit(t *testing.T) {
	readers := map[string]func(string, int64) ([]byte, error){
		"Read":       func(path string, most int64) ([]byte, error) { data, _, err := Read(path, most); return data, err },
		"ReadTarget": ReadTarget,
	}
	for name, read := range readers {
		for size := range 5 {
			want := bytes.Repeat([]byte("x"), size)
			path := place(t, string(want))
			for most := range int64(6) {
				got, err := read(path, most)
				fits := int64(size) <= most
				if fits && (err != nil || !bytes.Equal(got, want)) {
					t.Errorf("%s of %d bytes with a limit of %d: got %q, %v", name, size, most, got, err)
				}
				if !fits && (err == nil || got != nil || !strings.Contains(err.Error(), "more than")) {
					t.Errorf("%s of %d bytes with a limit of %d: got %q, %v, want an error", name, size, most, got, err)
				}
			}
		}
	}
}

// TestReadObeysItsLimitWhileAFileGrows checks that the number of bytes that were read decides, because a
// file may grow after its size was read.
func TestReadObeysItsLimitWhileAFileGrows(t *testing.T) {
	path := place(t, "1234")
	f, info, err := Open(path)
	assert.NilError(t, err)
	defer f.Close()
	assert.NilError(t, os.WriteFile(path, []byte("1234567"), 0o600))
	got, err := readOpen(f, info, 6)
	assert.Check(t, err != nil, "7 bytes with a limit of 6: got %q, want an error", got)
}

// openings returns the names of the functions that open, read or write the file at a path without
// ErrNotRegular.
func openings(path string) (names []string) {
	for name, open := range map[string]func() (*os.File, error){
		"Open":       func() (*os.File, error) { f, _, err := Open(path); return f, err },
		"OpenFile":   func() (*os.File, error) { f, _, err := OpenFile(path, os.O_WRONLY, 0); return f, err },
		"OpenTarget": func() (*os.File, error) { f, _, err := OpenTarget(path, os.O_WRONLY|os.O_CREATE, 0o600); return f, err },
		"Read":       func() (*os.File, error) { _, _, err := Read(path, 1<<10); return nil, err },
		"ReadTarget": func() (*os.File, error) { _, err := ReadTarget(path, 1<<10); return nil, err },
		"Write":      func() (*os.File, error) { return nil, Write(path, []byte("written"), 0o600) },
		"OpenIn": func() (*os.File, error) {
			root, err := os.OpenRoot(filepath.Dir(path))
			if err != nil {
				return nil, err
			}
			defer root.Close()
			f, _, err := OpenIn(root, filepath.Base(path))
			return f, err
		},
	} {
		f, err := open()
		f.Close() // f may be nil; Close then returns an error
		if !errors.Is(err, ErrNotRegular) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestOpenFileCreatesAppendsAndTruncates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	steps := []struct {
		flag        int
		write, want string
	}{
		{os.O_WRONLY | os.O_CREATE | os.O_APPEND, "one", "one"},
		{os.O_WRONLY | os.O_CREATE | os.O_APPEND, "two", "onetwo"},
		{os.O_WRONLY, "X", "Xnetwo"},
		{os.O_WRONLY | os.O_CREATE | os.O_TRUNC, "new", "new"},
	}
	for _, s := range steps {
		f, info, err := OpenFile(path, s.flag, 0o600)
		assert.NilError(t, err, "flags %x", s.flag)
		assert.Assert(t, info.Mode().IsRegular(), "flags %x: got %v, %v", s.flag, info, err)
		_, err = io.WriteString(f, s.write)
		err = errors.Join(err, f.Close())
		assert.NilError(t, err)
		got, _ := os.ReadFile(path)
		assert.Check(t, is.Equal(string(got), s.want), "flags %x", s.flag)
	}
	assert.Check(t, errors.Join(Write(path, []byte("x"), 0o600), WriteNew(path+"2", []byte("y"), 0o600)))
	one, _ := os.ReadFile(path)
	two, _ := os.ReadFile(path + "2")
	assert.Check(t, is.Equal(string(one)+string(two), "xy"), "written: got %q and %q", one, two)
	assert.Check(t, is.ErrorIs(WriteNew(path, nil, 0o600), fs.ErrExist), "WriteNew over a file")
}

// TestRenameRetriesWhileAFileIsOpen checks that only the Windows errors about open files are retried, and
// only a limited number of times.
func TestRenameRetriesWhileAFileIsOpen(t *testing.T) {
	for _, c := range []struct {
		system string
		errno  syscall.Errno
		last   int // number of the last call that fails
		calls  int
	}{{"windows", 5, 3, 4}, {"windows", 32, 3, 4}, {"windows", 32, 1000, 101}, {"windows", 2, 1000, 1}, {"linux", 32, 1000, 1}} {
		calls := 0
		err := retryWhileOpen(c.system, func() error {
			if calls++; calls > c.last {
				return nil
			}
			return &os.LinkError{Op: "rename", Err: c.errno}
		}, func() {})
		assert.Check(t, is.Equal(calls, c.calls), "%+v", c)
		assert.Check(t, is.Equal((err != nil), (calls <= c.last)), "%+v", c)
	}
	from, to := place(t, "new"), place(t, "old")
	held, _, err := Open(to)
	assert.NilError(t, err)
	defer held.Close()
	assert.Check(t, retryWhileOpen(runtime.GOOS, func() error { return os.Rename(from, to) }, func() { held.Close() }), "rename over an open file")
}
