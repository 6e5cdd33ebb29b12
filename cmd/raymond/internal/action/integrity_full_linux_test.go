package action

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// TestTruncatedLogIsNoForgery checks that an integrity log whose last line was cut, at any byte, is
// accepted.
func TestTruncatedLogIsNoForgery(t *testing.T) {
	dir, s := recordedDir(t)
	assert.NilError(t, s.Replace(filepath.Join(dir, "note"), []byte("3"))) // recorded, and then never written
	path := filepath.Join(dir, logName)
	data, err := os.ReadFile(path)
	assert.NilError(t, err)
	for size := len(data); size >= strings.LastIndex(string(data[:len(data)-1]), "\n")+1; size-- {
		assert.NilError(t, os.Truncate(path, int64(size)))
		assert.Check(t, checkIntegrity(dir, keyOf(t, "token", "step"), "note"), "cut off at %d of %d", size, len(data))
	}
}

// TestFullDiskIsNoForgery checks that the log stays valid if the disk has no room for a record, or only
// for its beginning.
func TestFullDiskIsNoForgery(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	dir, s := recordedDir(t)
	lines := filepath.Join(dir, "lines")
	for room, full := uint64(0), true; full; room++ {
		info, err := os.Stat(filepath.Join(dir, logName))
		assert.NilError(t, err)
		full = limited(t, uint64(info.Size())+room, func() error { return s.Append(lines, []byte("four\n")) }) != nil
		assert.NilError(t, checkIntegrity(dir, keyOf(t, "token", "step"), "lines"), "with room for %d bytes", room)
	}
	add(t, nil, lines, "", "four\n") // as the last record says
	add(t, s, lines, "five\n", "five\n")
	assert.Check(t, checkIntegrity(dir, keyOf(t, "token", "step"), "lines"), "with room again")
}

// limited calls do while no file can be longer than size.
func limited(t *testing.T, size uint64, do func() error) error {
	t.Helper()
	var before syscall.Rlimit
	assert.NilError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	assert.NilError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: before.Max}))
	defer func() {
		assert.NilError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	}()
	return do()
}
