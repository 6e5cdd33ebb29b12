//go:build unix

package state

import (
	"bytes"
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
	dies    bool // with the call, so that nothing that comes after it happens
}

// fault is a way in which a call fails.
type fault struct {
	err   error
	short bool // a write brings half of what it is given
	late  bool // what was asked for happens, and the call fails all the same
}

var faults = map[string]fault{
	"no space":       {err: syscall.ENOSPC},
	"short write":    {err: syscall.ENOSPC, short: true},
	"an error, late": {err: syscall.EIO, late: true},
	"short and late": {err: syscall.EIO, short: true, late: true},
}

// fails reports whether this call is one that fails.
func (d *faultyDisk) fails() bool {
	d.calls++
	return d.calls == d.n || d.forever && d.calls > d.n
}

// isDead reports whether the process has died in a call before this one.
func (d *faultyDisk) isDead() bool { return d.dies && d.calls > d.n }

// do makes a call that may fail.
func (d *faultyDisk) do(call func() error) error {
	if !d.fails() {
		return call()
	}
	if d.kind.late && !d.isDead() {
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
	if f.disk.isDead() {
		return n, f.disk.kind.err
	}
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
		if n%4 == 0 || n == 5 { // also twice in a row
			err = f.Fold(next, d, nil)
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

// calls returns how many calls the saves of a run make on a disk that is well.
func calls(t *testing.T) int {
	t.Helper()
	count := &faultyDisk{}
	withDisk(t, count)
	if _, _, err := saving(quickDir(t)); err != nil || count.calls < 30 {
		t.Fatalf("a disk that is well: got %v after %d calls, want no error after 30 or more", err, count.calls)
	}
	return count.calls
}

// TestEveryFileSystemCallMayFail, in each way, once and for ever.
func TestEveryFileSystemCallMayFail(t *testing.T) {
	for n := range calls(t) {
		for name, kind := range faults {
			for _, forever := range []bool{false, true} {
				d := &faultyDisk{n: n + 1, kind: kind, forever: forever}
				suffer(t, fmt.Sprintf("call %d, %s, forever %v", n+1, name, forever), d)
			}
		}
	}
}

// TestCrashAnywhereInASave: at whatever moment of its saves a process dies, before, in or after each
// call.
func TestCrashAnywhereInASave(t *testing.T) {
	died := errors.New("the process died")
	for n := range calls(t) {
		for _, kind := range []fault{{err: died}, {err: died, short: true}, {err: died, late: true}} {
			d := &faultyDisk{n: n + 1, kind: kind, forever: true, dies: true}
			suffer(t, fmt.Sprintf("dead at call %d, short %v, late %v", n+1, kind.short, kind.late), d)
		}
	}
}

// suffer saves a run on a disk whose calls fail. The run is as it was acknowledged last, or as it
// was being saved, it goes on from there, nothing else is left, and its history tells nothing that was not so.
func suffer(t *testing.T, what string, d *faultyDisk) {
	t.Helper()
	dir := quickDir(t)
	disk = d
	saved, failed, err := saving(dir)
	disk = &faultyDisk{}
	acknowledged := len(saved)
	switch {
	case d.calls < d.n:
		return // what went before has ended it
	case err == nil && !d.closing:
		t.Errorf("%s: got no error, want one", what)
	case failed != nil:
		saved = append(saved, failed)
	}
	f, run, err := Open(dir, "run-1", "me")
	if acknowledged == 0 && errors.Is(err, ErrNotFound) {
		return
	}
	if err != nil {
		t.Fatalf("%s: got %v, want a run that can be read", what, err)
	}
	defer f.Close()
	if seq := run.Progress.Seq; seq < acknowledged || seq > len(saved) || run.Validate() != nil {
		t.Fatalf("%s: got step %d (%v), want %d or the one after it, valid", what, seq, run.Validate(), acknowledged)
	}
	saved = goOn(t, what, f, append(saved[:run.Progress.Seq-1], run))
	wantHistory(t, what, dir, saved)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("%s: got %q left, want nothing", what, left)
	}
}

// goOn saves three more steps of a run, and returns all that were saved.
func goOn(t *testing.T, what string, f *File, saved []*Run) []*Run {
	t.Helper()
	run := saved[len(saved)-1]
	for range 3 {
		step := run.Step(time.Unix(99, 0))
		step.Resume(nil)
		delta := step.Delta()
		run = run.With(delta)
		err := error(nil)
		if run.Progress.Seq%2 == 0 {
			err = f.Fold(run, delta, nil)
		} else {
			err = f.Append(delta)
		}
		if err != nil {
			t.Fatalf("%s: it goes on: %v", what, err)
		}
		saved = append(saved, run)
	}
	return saved
}

// wantHistory holds what a history tells to what was saved.
func wantHistory(t *testing.T, what, dir string, saved []*Run) {
	t.Helper()
	last := 0
	for step, err := range ReadHistory(dir, "run-1") {
		if err != nil {
			t.Fatalf("%s: history: %v", what, err)
		}
		after := step.After()
		last = after.Progress.Seq
		got, _ := after.Encode()
		if want, _ := saved[last-1].Encode(); !bytes.Equal(got, want) {
			t.Fatalf("%s: step %d in the history:\n%s\nwant:\n%s", what, last, got, want)
		}
	}
	if last != len(saved) {
		t.Errorf("%s: history: got it to end at step %d, want %d", what, last, len(saved))
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

// TestBitsFlippedAnywhere: one bit of each byte of both files, and all of them. No damage of the
// journal is taken for a step, save that its last line counts as not written: what of that came
// to the disk before the machine died is not known.
func TestBitsFlippedAnywhere(t *testing.T) {
	dir, snapshot, journal := damaged(t)
	whole, err := Read(dir, "run-1")
	if err != nil {
		t.Fatal(err)
	}
	last := whole.Progress.Seq
	lastLine := bytes.LastIndexByte(journal[:len(journal)-1], '\n') + 1
	for name, data := range map[string][]byte{"run-1.json": snapshot, "run-1.journal": journal} {
		path := filepath.Join(dir, name)
		for at := range len(data) - 1 {
			for _, bits := range []byte{0xff, 1 << (at % 8)} {
				bad := bytes.Clone(data)
				bad[at] ^= bits
				write(t, path, bad)
				accepted := wantRefusedOrValid(t, fmt.Sprintf("%s, flipped at %d", name, at), dir)
				if name == "run-1.json" {
					continue
				}
				run, err := Read(dir, "run-1")
				if accepted && run.Progress.Seq >= last || at >= lastLine && bad[at] != '\n' && (err != nil || run.Progress.Seq != last-1) {
					t.Errorf("the journal flipped at %d: got %v, %v, want it refused, or its last line to count as not written", at, run, err)
				}
			}
		}
		write(t, path, data)
	}
}
