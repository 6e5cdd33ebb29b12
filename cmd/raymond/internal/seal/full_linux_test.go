package seal_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/seal"
)

// TestWhatIsCutOffIsNoForgery: the last line of the seals, at every byte.
func TestWhatIsCutOffIsNoForgery(t *testing.T) {
	dir, s := sealed(t)
	if err := s.Replace(filepath.Join(dir, "note"), []byte("3")); err != nil { // and then nobody could write it
		t.Fatal(err)
	}
	path := filepath.Join(dir, "seals")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := len(data); size >= strings.LastIndex(string(data[:len(data)-1]), "\n")+1; size-- {
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		if err := seal.Check(dir, key(t, "token", "step"), "note"); err != nil {
			t.Errorf("cut off at %d of %d: got %v, want it in order", size, len(data), err)
		}
	}
}

// TestAFullDiskIsNoForgery: a line that has room for a part of it, of whatever length, isn't there.
func TestAFullDiskIsNoForgery(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	dir, s := sealed(t)
	lines := filepath.Join(dir, "lines")
	for room, full := uint64(0), true; full; room++ {
		info, err := os.Stat(filepath.Join(dir, "seals"))
		if err != nil {
			t.Fatal(err)
		}
		full = limited(t, uint64(info.Size())+room, func() error { return s.Append(lines, []byte("four\n")) }) != nil
		if err := seal.Check(dir, key(t, "token", "step"), "lines"); err != nil {
			t.Fatalf("with room for %d bytes: got %v, want it in order", room, err)
		}
	}
	add(t, nil, lines, "", "four\n") // as was sealed at last
	add(t, s, lines, "five\n", "five\n")
	if err := seal.Check(dir, key(t, "token", "step"), "lines"); err != nil {
		t.Errorf("with room again: got %v, want it in order", err)
	}
}

// limited does something while no file can be longer than size.
func limited(t *testing.T, size uint64, do func() error) error {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
	}()
	return do()
}
