//go:build unix

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// faultyDisk is a disk whose n-th call fails, once or from then on. It brings nothing to
// the real disk, which takes long and changes nothing for a process that lives on.
type faultyDisk struct {
	n       int // counts down to the call that fails
	kind    fault
	forever bool
	calls   int
	closing bool // a file that was synced could not be closed
}

// fault is a way in which a call fails.
type fault struct {
	err   error
	short bool // a write brings half of what it is given
	late  bool // what was asked for happens, and the call fails all the same
}

var faults = map[string]fault{
	"no space":        {err: syscall.ENOSPC},
	"quota":           {err: syscall.EDQUOT},
	"I/O error":       {err: syscall.EIO},
	"read-only":       {err: syscall.EROFS},
	"short write":     {err: syscall.ENOSPC, short: true},
	"an error, late":  {err: syscall.EIO, late: true},
	"short and late":  {err: syscall.EIO, short: true, late: true},
	"interrupted I/O": {err: syscall.EINTR},
}

// fails reports whether this call is one that fails.
func (d *faultyDisk) fails() bool {
	d.calls++
	return d.calls == d.n || d.forever && d.calls > d.n
}

// do makes a call that may fail.
func (d *faultyDisk) do(call func() error) error {
	if !d.fails() {
		return call()
	}
	if d.kind.late {
		_ = call() // its result is lost
	}
	return d.kind.err
}

func (d *faultyDisk) read(path string) ([]byte, error) { return realDisk{}.read(path) }

func (d *faultyDisk) open(path string, flag int, mode fs.FileMode) (opened, error) {
	var f opened
	err := d.do(func() error {
		w, err := realDisk{}.open(path, flag, mode)
		if err == nil {
			f = faultyFile{w, d}
		}
		return err
	})
	if err != nil && f != nil {
		f.(faultyFile).opened.Close()
	}
	return f, err
}

func (d *faultyDisk) rename(from, to string) error {
	return d.do(func() error { return realDisk{}.rename(from, to) })
}

func (d *faultyDisk) remove(path string) error {
	return d.do(func() error { return realDisk{}.remove(path) })
}

func (d *faultyDisk) syncDir(string) error { return d.do(func() error { return nil }) }

type faultyFile struct {
	opened
	disk *faultyDisk
}

func (f faultyFile) Write(data []byte) (int, error) {
	if !f.disk.fails() {
		return f.opened.Write(data)
	}
	n := 0
	if f.disk.kind.short {
		n, _ = f.opened.Write(data[:len(data)/2])
	} else if f.disk.kind.late {
		n, _ = f.opened.Write(data)
	}
	return n, f.disk.kind.err
}

func (f faultyFile) Sync() error { return f.disk.do(func() error { return nil }) }

func (f faultyFile) Truncate(size int64) error {
	return f.disk.do(func() error { return f.opened.Truncate(size) })
}

func (f faultyFile) Close() error {
	if f.disk.fails() {
		f.disk.closing = true
		_ = f.opened.Close()
		return f.disk.kind.err
	}
	return f.opened.Close()
}

// quickDir is a folder for one test, in memory where the machine has that: these tests
// write thousands of files.
func quickDir(t *testing.T) string {
	t.Helper()
	dir := fmt.Sprintf("/dev/shm/state-test-%d-%d", os.Getpid(), rand.Uint64())
	if os.Mkdir(dir, 0o700) != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// saving saves a run as its owner does: a snapshot, steps, snapshots in between, and one
// in the end. It stops at the first error, and returns the runs that were acknowledged
// and the one that was being saved then; nil when all were.
func saving(dir string) (acknowledged []*Run, failed *Run, err error) {
	f, err := Create(dir, "run-1", "me")
	if err != nil {
		return nil, nil, err
	}
	run := tiny()
	for n := range 9 {
		step := run.Step(time.Unix(int64(n), 0))
		switch n {
		case 0:
			step.Begin()
		case 8:
			step.Close(Closing{Status: Cancelled})
		}
		d := step.Delta()
		next := run.With(d)
		if n%4 == 0 {
			err = f.Fold(next, nil, nil)
		} else {
			err = f.Append(d)
		}
		if err != nil {
			return acknowledged, next, errors.Join(err, f.Close())
		}
		run, acknowledged = next, append(acknowledged, next)
	}
	return acknowledged, nil, f.Close()
}

// TestEveryFileSystemCallMayFail, in each way, once and for ever: what was acknowledged
// is there, the step under way is there or is not, nothing else, and nothing is left
// behind that keeps the run from being saved when the disk is well again.
func TestEveryFileSystemCallMayFail(t *testing.T) {
	count := &faultyDisk{}
	withDisk(t, count)
	if _, _, err := saving(quickDir(t)); err != nil || count.calls < 30 {
		t.Fatalf("a disk that is well: got %v after %d calls, want no error after 30 or more", err, count.calls)
	}
	cells := 0
	for name, kind := range faults {
		for n := 1; n <= count.calls; n++ {
			for _, forever := range []bool{false, true} {
				cells++
				sufferFault(t, fmt.Sprintf("call %d, %s, forever %v", n, name, forever), &faultyDisk{n: n, kind: kind, forever: forever})
			}
		}
	}
	t.Logf("%d calls, %d faults", count.calls, cells)
}

func sufferFault(t *testing.T, what string, d *faultyDisk) {
	t.Helper()
	dir := quickDir(t)
	disk = d
	acknowledged, failed, err := saving(dir)
	disk = realDisk{}
	if d.calls < d.n {
		return // what went before has ended it
	}
	if err == nil && !d.closing {
		t.Errorf("%s: got no error, want one", what)
	}
	f, run, openErr := Open(dir, "run-1", "me")
	switch {
	case len(acknowledged) == 0 && errors.Is(openErr, ErrNotFound):
		return
	case openErr != nil:
		t.Errorf("%s: got %v, want a run that can be read", what, openErr)
		return
	}
	defer f.Close()
	last := -1
	if n := len(acknowledged); n > 0 {
		last = acknowledged[n-1].Progress.Seq
	}
	if seq := run.Progress.Seq; seq != last && (failed == nil || seq != failed.Progress.Seq) || run.Validate() != nil {
		t.Errorf("%s: got step %d (%v), want %d or the one after it, valid", what, seq, run.Validate(), last)
	}
	next := run.Step(time.Unix(99, 0))
	next.Resume(nil)
	again := run.With(next.Delta())
	disk = &faultyDisk{}
	if err := f.Fold(again, nil, nil); err != nil {
		t.Errorf("%s: save when the disk is well: %v", what, err)
	}
	if got, err := Read(dir, "run-1"); err != nil || got.Progress.Seq != again.Progress.Seq {
		t.Errorf("%s: read after that: %v", what, err)
	}
	disk = realDisk{}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("%s: got %q left, want nothing", what, left)
	}
}

// damaged is a folder with a run of a snapshot and a journal, and its files.
func damaged(t *testing.T) (dir string, snapshot, journal []byte) {
	t.Helper()
	dir = quickDir(t)
	f, err := Create(dir, "run-1", "me")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	run := tiny()
	begin := run.Step(time.Unix(1, 0))
	begin.Begin()
	run = run.With(begin.Delta())
	if err := f.Fold(run, nil, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		d := run.Step(time.Unix(2, 0)).Delta()
		if err := f.Append(d); err != nil {
			t.Fatal(err)
		}
		run = run.With(d)
	}
	if snapshot, err = os.ReadFile(filepath.Join(dir, "run-1.json")); err == nil {
		journal, err = os.ReadFile(filepath.Join(dir, "run-1.journal"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, snapshot, journal
}

// wantRefusedOrValid reads a damaged run: it is refused, with its files as they were, or
// valid. It reports which.
func wantRefusedOrValid(t *testing.T, what, dir string) (accepted bool) {
	t.Helper()
	read := func() string {
		a, _ := os.ReadFile(filepath.Join(dir, "run-1.json"))
		b, _ := os.ReadFile(filepath.Join(dir, "run-1.journal"))
		return string(a) + "\x00" + string(b)
	}
	before := read()
	run, err := Read(dir, "run-1")
	var invalid *FileError
	switch {
	case err == nil && run.Validate() != nil:
		t.Errorf("%s: got a run that is not valid: %v", what, run.Validate())
	case err != nil && !errors.As(err, &invalid):
		t.Errorf("%s: got %v, want a FileError", what, err)
	}
	if len(before)%16 == 0 { // to take the lock takes longer
		f, _, openErr := Open(dir, "run-1", "me")
		if (openErr == nil) != (err == nil) {
			t.Errorf("%s: to open it: got %v, to read it: %v", what, openErr, err)
		}
		if openErr == nil {
			f.Close()
		}
	}
	if read() != before {
		t.Errorf("%s: the files were changed", what)
	}
	return err == nil
}

// TestSnapshotsCutAnywhere are refused: at each byte but the last, which is a line break.
func TestSnapshotsCutAnywhere(t *testing.T) {
	dir, snapshot, journal := damaged(t)
	path := filepath.Join(dir, "run-1.json")
	for n := range len(snapshot) - 1 {
		write(t, path, snapshot[:n])
		if wantRefusedOrValid(t, fmt.Sprint("snapshot cut at ", n), dir) {
			t.Errorf("snapshot of %d bytes cut at %d: got it accepted", len(snapshot), n)
		}
	}
	write(t, path, snapshot)
	path = filepath.Join(dir, "run-1.journal")
	for n := range len(journal) {
		write(t, path, journal[:n])
		if !wantRefusedOrValid(t, fmt.Sprint("journal cut at ", n), dir) {
			t.Errorf("journal cut at %d: got it refused, want what is whole of it", n)
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBitsFlippedAnywhere: each byte of both files turned round, each bit of the journal,
// and several bits at random. No damage of the journal is taken for a step, save that
// its last line may count as not written.
func TestBitsFlippedAnywhere(t *testing.T) {
	dir, snapshot, journal := damaged(t)
	whole, err := Read(dir, "run-1")
	if err != nil {
		t.Fatal(err)
	}
	last := whole.Progress.Seq
	flip := func(name string, data []byte, change func([]byte)) {
		t.Helper()
		bad := append([]byte{}, data...)
		change(bad)
		path := filepath.Join(dir, name)
		write(t, path, bad)
		defer write(t, path, data)
		if !wantRefusedOrValid(t, "flipped "+name, dir) || name == "run-1.json" {
			return
		}
		if run, err := Read(dir, "run-1"); err != nil || run.Progress.Seq >= last && string(bad) != string(data) && bad[len(bad)-1] == '\n' {
			t.Errorf("%s with flipped bits: got all of its steps (%v)", name, err)
		}
	}
	for at := range snapshot {
		flip("run-1.json", snapshot, func(b []byte) { b[at] ^= 0xff })
	}
	for at := range len(journal) - 1 {
		flip("run-1.journal", journal, func(b []byte) { b[at] ^= 0xff })
		flip("run-1.journal", journal, func(b []byte) { b[at] ^= 1 << (at % 8) })
	}
	random := rand.New(rand.NewPCG(20260401, 0))
	for range 2000 {
		name, data := "run-1.json", snapshot
		if random.IntN(2) == 0 {
			name, data = "run-1.journal", journal[:len(journal)-1]
		}
		flip(name, data, func(b []byte) {
			for range 1 + random.IntN(4) {
				b[random.IntN(len(b))] ^= 1 << random.IntN(8)
			}
		})
	}
}
