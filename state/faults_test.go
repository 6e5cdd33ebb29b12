package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
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

func (f faultyFile) WriteAt(data []byte, at int64) (int, error) {
	if !f.disk.fails() {
		return f.opened.WriteAt(data, at)
	}
	n := 0
	if f.disk.isDead() {
		return n, f.disk.kind.err
	}
	if f.disk.kind.short {
		n, _ = f.opened.WriteAt(data[:len(data)/2], at)
	} else if f.disk.kind.late {
		n, _ = f.opened.WriteAt(data, at)
	}
	return n, f.disk.kind.err
}

func (f faultyFile) Sync() error { return f.disk.do(func() error { return nil }) }

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

// saves saves steps of a run, some in a snapshot, as folds says. It returns the runs after them, and the one
// that was being saved when an error ended it; nil when none did.
func saves(f *File, run *Run, folds ...bool) (saved []*Run, failed *Run, err error) {
	for _, fold := range folds {
		step := run.Step(time.Unix(int64(run.Progress.Seq), 0))
		if run.Progress.Seq == 0 {
			step.Begin()
		}
		d := step.Delta()
		next := run.With(d)
		if fold {
			err = f.WriteSnapshot(next, d, nil)
		} else {
			err = f.Append(d)
		}
		if err != nil {
			return saved, next, err
		}
		run, saved = next, append(saved, next)
	}
	return saved, nil, nil
}

// saving saves a run as its owner does: a snapshot, steps, snapshots in between, also twice in a row, and one
// in the end.
func saving(dir string) (acknowledged []*Run, failed *Run, err error) {
	f, err := Create(dir, "run-1", "me")
	if err != nil {
		return nil, nil, err
	}
	acknowledged, failed, err = saves(f, tiny(), true, false, false, false, true, true, false, false, true)
	return acknowledged, failed, errors.Join(err, f.Close())
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
	assert.NilError(t, err, "%s: want a run that can be read", what)
	defer f.Close()
	left, _ := filepath.Glob(filepath.Join(dir, "*.tmp"))
	assert.Check(t, is.Len(left, 0), what)
	if seq := run.Progress.Seq; seq < acknowledged || seq > len(saved) || run.Validate() != nil {
		t.Fatalf("%s: got step %d (%v), want %d or the one after it, valid", what, seq, run.Validate(), acknowledged)
	}
	more, _, err := saves(f, run, false, true, false)
	assert.NilError(t, err, "%s: it goes on", what)
	wantHistory(t, what, dir, slices.Concat(saved[:run.Progress.Seq-1], []*Run{run}, more))
}

// wantHistory holds what a history tells to what was saved.
func wantHistory(t *testing.T, what, dir string, saved []*Run) {
	t.Helper()
	last := 0
	for step, err := range ReadHistory(dir, "run-1") {
		assert.NilError(t, err, "%s: history", what)
		after := step.After()
		last = after.Progress.Seq
		got, _ := after.Encode()
		want, _ := saved[last-1].Encode()
		assert.Assert(t, bytes.Equal(got, want), "%s: step %d in the history:\n%s\nwant:\n%s", what, last, got, want)
	}
	assert.Check(t, is.Equal(last, len(saved)), "%s: the step that the history ends at", what)
}

// damaged is a folder with a run of a snapshot and a journal, with two steps before the snapshot and
// two after it, and its files.
type damaged struct {
	t                 *testing.T
	dir               string
	snapshot, journal []byte
	saved             []*Run
	after             int  // where in the journal the steps after the snapshot begin
	isAltered         bool // the snapshot is, so that nothing is known of the run but that it is valid
}

func newDamaged(t *testing.T) *damaged {
	t.Helper()
	d := &damaged{t: t, dir: quickDir(t)}
	f, err := Create(d.dir, "run-1", "me")
	assert.NilError(t, err)
	defer f.Close()
	first, _, err := saves(f, tiny(), true, false, false, true)
	assert.NilError(t, err)
	d.after = len(d.read("run-1.journal"))
	last, _, err := saves(f, first[3], false, false)
	assert.NilError(t, err)
	d.saved = append(first, last...)
	d.snapshot, d.journal = d.read("run-1.json"), d.read("run-1.journal")
	return d
}

func (d *damaged) read(name string) []byte {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, name))
	assert.NilError(d.t, err)
	return data
}

// wantRefusedOrTrue reads the damaged run: it is refused, with its files as they were, or is as it was saved
// at some time, and so is all that its history tells. It returns the step; 0 for one that is refused.
func (d *damaged) wantRefusedOrTrue(what string) (seq int) {
	d.t.Helper()
	before := string(d.read("run-1.json")) + string(d.read("run-1.journal"))
	run, err := Read(d.dir, "run-1")
	var invalid *FileError
	if err != nil && !errors.As(err, &invalid) {
		d.t.Errorf("%s: got %v, want a FileError", what, err)
	}
	for step, err := range ReadHistory(d.dir, "run-1") {
		if err == nil {
			d.wantTrue(what, step.After())
		}
	}
	if len(before)%16 == 0 { // to take the lock takes longer
		f, _, openErr := Open(d.dir, "run-1", "me")
		assert.Check(d.t, is.Equal(openErr == nil, err == nil), "%s: to open it: got %v, to read it: %v", what, openErr, err)
		if openErr == nil {
			f.Close()
		}
	}
	assert.Check(d.t, is.Equal(string(d.read("run-1.json"))+string(d.read("run-1.journal")), before), "%s: the files were changed", what)
	if err != nil {
		return 0
	}
	d.wantTrue(what, run)
	return run.Progress.Seq
}

func (d *damaged) wantTrue(what string, run *Run) {
	d.t.Helper()
	if d.isAltered {
		assert.Check(d.t, run.Validate(), "%s: want a valid run", what)
		return
	}
	got, _ := run.Encode()
	want, _ := d.saved[run.Progress.Seq-1].Encode()
	assert.Assert(d.t, bytes.Equal(got, want), "%s: got\n%s\nwant\n%s", what, got, want)
}

// TestFilesCutAnywhere: a snapshot is refused, cut at each byte but the last, which is a line break, and of
// a journal what is whole counts.
func TestFilesCutAnywhere(t *testing.T) {
	d := newDamaged(t)
	path := filepath.Join(d.dir, "run-1.json")
	for n := 0; n < len(d.snapshot)-1; n += stride {
		write(t, path, d.snapshot[:n])
		assert.Check(t, d.wantRefusedOrTrue(fmt.Sprint("snapshot cut at ", n)) == 0, "snapshot of %d bytes cut at %d: got it accepted", len(d.snapshot), n)
	}
	write(t, path, d.snapshot)
	path = filepath.Join(d.dir, "run-1.journal")
	for n := 0; n < len(d.journal); n += stride {
		write(t, path, d.journal[:n])
		want := 4 + bytes.Count(d.journal[min(n, d.after):n], []byte("\n"))
		assert.Check(t, is.Equal(d.wantRefusedOrTrue(fmt.Sprint("journal cut at ", n)), want), "journal cut at %d: step", n)
	}
}

// stride is how many bytes apart the damages are: on Windows a file costs milliseconds.
var stride = map[bool]int{false: 1, true: 23}[runtime.GOOS == "windows"]

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	assert.NilError(t, os.WriteFile(path, data, 0o600))
}

// TestBitsFlippedAnywhere: one bit of each byte of both files, and all of them, or a line of the journal is
// missing. No damage of the journal is taken for a step, save that its last line counts as not written: what of
// that came to the disk before the machine died is not known. What is before the snapshot is the history's matter.
func TestBitsFlippedAnywhere(t *testing.T) {
	d := newDamaged(t)
	lastLine := bytes.LastIndexByte(d.journal[:len(d.journal)-1], '\n') + 1
	for name, data := range map[string][]byte{"run-1.json": d.snapshot, "run-1.journal": d.journal} {
		path := filepath.Join(d.dir, name)
		d.isAltered = name == "run-1.json"
		for at := 0; at < len(data)-1; at += stride {
			for _, bits := range []byte{0xff, 1 << (at % 8)} {
				bad := bytes.Clone(data)
				bad[at] ^= bits
				write(t, path, bad)
				got := d.wantRefusedOrTrue(fmt.Sprintf("%s, flipped at %d", name, at))
				if d.isAltered || at < d.after-1 {
					continue
				}
				if got >= 6 || at >= lastLine && bad[at] != '\n' && got != 5 {
					t.Errorf("the journal flipped at %d: got step %d, want it refused, or its last line to count as not written", at, got)
				}
			}
		}
		write(t, path, data)
	}
	d.isAltered = false
	lines := bytes.SplitAfter(d.journal, []byte("\n"))
	for n := range lines[:len(lines)-1] {
		write(t, filepath.Join(d.dir, "run-1.journal"), bytes.Join(slices.Delete(slices.Clone(lines), n, n+1), nil))
		want := map[int]int{4: 0, 5: 5}[n]
		if n < 4 {
			want = 6
		}
		assert.Check(t, is.Equal(d.wantRefusedOrTrue(fmt.Sprint("without line ", n)), want), "without line %d: step", n)
	}
}
