package journal

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
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// faultyDisk is a disk on which call number n fails, and possibly all calls after it. It skips syncs,
// because they are slow and make no difference unless the machine crashes.
type faultyDisk struct {
	n       int // number of the call that fails, from 1
	kind    fault
	forever bool // all later calls fail as well
	calls   int  // number of calls so far
	closing bool // whether closing a file failed although the file had been synced
	dies    bool // the process dies in call n, so no later call has an effect
}

// fault describes how a call fails.
type fault struct {
	err   error
	short bool // a write writes only half of its data
	late  bool // the call has its full effect, but still returns an error
}

// faults are the ways in which calls fail, by name.
var faults = map[string]fault{
	"no space":       {err: syscall.ENOSPC},
	"short write":    {err: syscall.ENOSPC, short: true},
	"an error, late": {err: syscall.EIO, late: true},
	"short and late": {err: syscall.EIO, short: true, late: true},
}

// fails counts a call and reports whether it fails.
func (d *faultyDisk) fails() bool {
	d.calls++
	return d.calls == d.n || d.forever && d.calls > d.n
}

// isDead reports whether the process died in an earlier call, so that the current call has no effect.
func (d *faultyDisk) isDead() bool { return d.dies && d.calls > d.n }

// do makes a call, which may fail.
func (d *faultyDisk) do(call func() error) error {
	if !d.fails() {
		return call()
	}
	if d.kind.late && !d.isDead() {
		_ = call() // the caller sees only the error
	}
	return d.kind.err
}

func (d *faultyDisk) read(path string) ([]byte, error) { return realDisk{}.read(path) }

func (d *faultyDisk) open(path string, flag int, mode fs.FileMode) (writableFile, error) {
	var f writableFile
	err := d.do(func() error {
		w, err := realDisk{}.open(path, flag, mode)
		if err == nil {
			f = faultyFile{w, d}
		}
		return err
	})
	if err != nil && f != nil {
		f.(faultyFile).writableFile.Close()
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

// faultyFile is an open file on a faultyDisk. Its calls may fail as well.
type faultyFile struct {
	writableFile
	disk *faultyDisk
}

func (f faultyFile) WriteAt(data []byte, at int64) (int, error) {
	if !f.disk.fails() {
		return f.writableFile.WriteAt(data, at)
	}
	n := 0
	if f.disk.isDead() {
		return n, f.disk.kind.err
	}
	if f.disk.kind.short {
		n, _ = f.writableFile.WriteAt(data[:len(data)/2], at)
	} else if f.disk.kind.late {
		n, _ = f.writableFile.WriteAt(data, at)
	}
	return n, f.disk.kind.err
}

func (f faultyFile) Sync() error { return f.disk.do(func() error { return nil }) }

func (f faultyFile) Close() error {
	if f.disk.fails() {
		f.disk.closing = true
		_ = f.writableFile.Close()
		return f.disk.kind.err
	}
	return f.writableFile.Close()
}

// quickDir returns a directory for one test. It is in memory if possible, because these tests write
// thousands of files.
func quickDir(t *testing.T) string {
	t.Helper()
	dir := fmt.Sprintf("/dev/shm/state-test-%d-%d", os.Getpid(), rand.Uint64())
	if os.Mkdir(dir, 0o700) != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// saveSteps saves one step of a run for each element of folds. If the element is true, it writes a
// snapshot; otherwise it appends the step to the journal. It returns the run after each saved step. If a
// save fails, it also returns the run that could not be saved, and the error.
func saveSteps(f *File, run *state.Run, folds ...bool) (saved []*state.Run, failed *state.Run, err error) {
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

// saveRun saves a run in the same way as the runner: a snapshot, steps, further snapshots between steps,
// two of them in succession, and a snapshot at the end.
func saveRun(dir string) (acknowledged []*state.Run, failed *state.Run, err error) {
	f, err := Create(dir, "run-1", "me")
	if err != nil {
		return nil, nil, err
	}
	acknowledged, failed, err = saveSteps(f, tinyRun(), true, false, false, false, true, true, false, false, true)
	return acknowledged, failed, errors.Join(err, f.Close())
}

// countCalls returns the number of calls that saveRun makes on a disk without faults.
func countCalls(t *testing.T) int {
	t.Helper()
	count := &faultyDisk{}
	withDisk(t, count)
	if _, _, err := saveRun(quickDir(t)); err != nil || count.calls < 30 {
		t.Fatalf("a disk that is well: got %v after %d calls, want no error after 30 or more", err, count.calls)
	}
	return count.calls
}

// TestEveryFileSystemCallMayFail checks that files stay consistent if any single call fails. It makes each
// call fail in each way, once alone and once together with all later calls.
func TestEveryFileSystemCallMayFail(t *testing.T) {
	for n := range countCalls(t) {
		for name, kind := range faults {
			for _, forever := range []bool{false, true} {
				d := &faultyDisk{n: n + 1, kind: kind, forever: forever}
				checkFaultyDisk(t, fmt.Sprintf("call %d, %s, forever %v", n+1, name, forever), d)
			}
		}
	}
}

// TestCrashAnywhereInASave checks that files stay consistent if the process dies before, during or after
// any call.
func TestCrashAnywhereInASave(t *testing.T) {
	died := errors.New("the process died")
	for n := range countCalls(t) {
		for _, kind := range []fault{{err: died}, {err: died, short: true}, {err: died, late: true}} {
			d := &faultyDisk{n: n + 1, kind: kind, forever: true, dies: true}
			checkFaultyDisk(t, fmt.Sprintf("dead at call %d, short %v, late %v", n+1, kind.short, kind.late), d)
		}
	}
}

// checkFaultyDisk saves a run on the faulty disk d. It then checks that the files contain the run of the
// last successful save, or of the save that failed. It also checks that more steps can be saved, that no
// temporary files remain, and that the history is correct.
func checkFaultyDisk(t *testing.T, what string, d *faultyDisk) {
	t.Helper()
	dir := quickDir(t)
	disk = d
	saved, failed, err := saveRun(dir)
	disk = &faultyDisk{}
	acknowledged := len(saved)
	switch {
	case d.calls < d.n:
		return // saving ended before call n
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
	more, _, err := saveSteps(f, run, false, true, false)
	assert.NilError(t, err, "%s: saving more steps", what)
	wantHistory(t, what, dir, slices.Concat(saved[:run.Progress.Seq-1], []*state.Run{run}, more))
}

// wantHistory checks that the history of the run consists of exactly the saved steps.
func wantHistory(t *testing.T, what, dir string, saved []*state.Run) {
	t.Helper()
	last := 0
	for step, err := range History(dir, "run-1") {
		assert.NilError(t, err, "%s: history", what)
		after := step.After()
		last = after.Progress.Seq
		got, _ := after.Encode()
		want, _ := saved[last-1].Encode()
		assert.Assert(t, bytes.Equal(got, want), "%s: step %d in the history:\n%s\nwant:\n%s", what, last, got, want)
	}
	assert.Check(t, is.Equal(last, len(saved)), "%s: the step that the history ends at", what)
}

// damagedRun is a directory with a saved run, whose files a test will damage. The journal contains four
// steps up to the snapshot and two steps after it.
type damagedRun struct {
	t                 *testing.T
	dir               string
	snapshot, journal []byte
	saved             []*state.Run
	after             int  // offset in the journal at which the steps after the snapshot begin
	isAltered         bool // the snapshot was damaged, so a run that is read may differ, but must be valid
}

// newDamagedRun saves a run and returns it. Its files are not damaged yet.
func newDamagedRun(t *testing.T) *damagedRun {
	t.Helper()
	d := &damagedRun{t: t, dir: quickDir(t)}
	f, err := Create(d.dir, "run-1", "me")
	assert.NilError(t, err)
	defer f.Close()
	first, _, err := saveSteps(f, tinyRun(), true, false, false, true)
	assert.NilError(t, err)
	d.after = len(d.read("run-1.journal"))
	last, _, err := saveSteps(f, first[3], false, false)
	assert.NilError(t, err)
	d.saved = append(first, last...)
	d.snapshot, d.journal = d.read("run-1.json"), d.read("run-1.journal")
	return d
}

// read returns the content of a file in the directory.
func (d *damagedRun) read(name string) []byte {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, name))
	assert.NilError(d.t, err)
	return data
}

// wantRefusedOrTrue reads the damaged run. Either the files are rejected, or the run equals a run that was
// saved; in both cases the files must not change. Every run in the history must have been saved, too. It
// returns the number of the run's last step, or 0 if the files are rejected.
func (d *damagedRun) wantRefusedOrTrue(what string) (seq int) {
	d.t.Helper()
	before := string(d.read("run-1.json")) + string(d.read("run-1.journal"))
	run, err := Read(d.dir, "run-1")
	var invalid *state.FileError
	if err != nil && !errors.As(err, &invalid) {
		d.t.Errorf("%s: got %v, want a state.FileError", what, err)
	}
	for step, err := range History(d.dir, "run-1") {
		if err == nil {
			d.wantTrue(what, step.After())
		}
	}
	// The run is opened only in some cases, because taking the lock is slow.
	if len(before)%16 == 0 {
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

// wantTrue checks that run equals the run that was saved after the same step. If the snapshot was damaged,
// wantTrue only checks that run is valid.
func (d *damagedRun) wantTrue(what string, run *state.Run) {
	d.t.Helper()
	if d.isAltered {
		assert.Check(d.t, run.Validate(), "%s: want a valid run", what)
		return
	}
	got, _ := run.Encode()
	want, _ := d.saved[run.Progress.Seq-1].Encode()
	assert.Assert(d.t, bytes.Equal(got, want), "%s: got\n%s\nwant\n%s", what, got, want)
}

// TestFilesCutAnywhere truncates both files at each byte. A truncated snapshot must be rejected, unless only
// its final line break is missing. In a truncated journal, all complete lines must count.
func TestFilesCutAnywhere(t *testing.T) {
	d := newDamagedRun(t)
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

// stride is the distance in bytes between the damaged bytes. It is larger on Windows, where file access is
// slow.
var stride = map[bool]int{false: 1, true: 23}[runtime.GOOS == "windows"]

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	assert.NilError(t, os.WriteFile(path, data, 0o600))
}

// TestBitsFlippedAnywhere flips one bit or all bits in each byte of both files, and removes each line of the
// journal. No damaged line may be read as a step. Only damage to the last line may be ignored, because that
// line may not have been written completely. Lines before the snapshot are used only for the history.
func TestBitsFlippedAnywhere(t *testing.T) {
	d := newDamagedRun(t)
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

// watchedDisk records each sync: the path relative to dir and, for a file, whether the file has any content.
type watchedDisk struct {
	fileSystem
	t    *testing.T
	dir  string
	seen []string
}

// watchedFile is a file that records its syncs in disk.
type watchedFile struct {
	writableFile
	disk *watchedDisk
	path string
}

// note records a sync of path. The record is the relative path, followed by the text what.
func (d *watchedDisk) note(path, what string) {
	name, err := filepath.Rel(d.dir, path)
	assert.Check(d.t, err)
	d.seen = append(d.seen, name+what)
}

func (d *watchedDisk) open(path string, flag int, mode fs.FileMode) (writableFile, error) {
	assert.Check(d.t, is.Equal(flag&os.O_APPEND, 0), "%s is opened with O_APPEND: Windows would not let it be cut off", path)
	f, err := d.fileSystem.open(path, flag, mode)
	return watchedFile{f, d, path}, err
}

func (d *watchedDisk) syncDir(dir string) error {
	d.note(dir, "")
	return d.fileSystem.syncDir(dir)
}

func (f watchedFile) Sync() error {
	info, err := os.Stat(f.path)
	assert.Check(f.disk.t, err)
	f.disk.note(f.path, fmt.Sprint(" ", info.Size() > 0))
	return f.writableFile.Sync()
}

// withDisk replaces the disk by d for one test.
func withDisk(t *testing.T, d fileSystem) {
	t.Helper()
	t.Cleanup(func() { disk = realDisk{} })
	disk = d
}

// tinyRun returns a run of a workflow with a single state.
func tinyRun() *state.Run {
	return state.New(state.Run{WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: statetest.Abs("/w"), Entry: "A.sh", Dir: statetest.Abs("/d"), Files: map[string]string{"A.sh": strings.Repeat("ab", 32)},
		Options: state.Options{MaxParallel: 2, MaxAgents: 9, MaxDepth: 2, PermissionMode: "acceptEdits"}}, "", time.Unix(1, 0))
}

// TestSavedDataIsSynced checks that a snapshot is synced before it is renamed, and that its directory is
// synced after that. It also checks that each journal line after the snapshot is synced.
func TestSavedDataIsSynced(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(dir, "run-1", "me")
	assert.NilError(t, err)
	defer f.Close()
	watched := &watchedDisk{fileSystem: realDisk{}, t: t, dir: dir}
	withDisk(t, watched)
	run := tinyRun()
	assert.NilError(t, f.WriteSnapshot(run, nil, nil))
	_, _, err = saveSteps(f, run, false, false)
	assert.NilError(t, err)
	want := []string{"run-1.json.tmp true", ".", "run-1.journal true", "run-1.journal true"}
	assert.Check(t, is.DeepEqual(watched.seen, want), "synced by a snapshot and two steps")
}

// busyDisk simulates another process that saves a run: after the first read, it calls the function then.
type busyDisk struct {
	fileSystem
	then func()
}

func (d *busyDisk) read(path string) ([]byte, error) {
	data, err := d.fileSystem.read(path)
	if then := d.then; then != nil {
		d.then = nil
		then()
	}
	return data, err
}

// TestRunIsReadWhileItIsSaved checks that Read returns a run that is at least as new as when Read began,
// even if another process writes a new snapshot after Read has read one file and before it reads the other.
func TestRunIsReadWhileItIsSaved(t *testing.T) {
	for steps := range 4 { // number of steps after the new snapshot
		dir := t.TempDir()
		f, err := Create(dir, "run-1", "me")
		assert.NilError(t, err)
		// On Windows, the rename would wait for this reader forever.
		if steps == 3 && runtime.GOOS != "windows" {
			f.SetMaxHistory(0) // the next snapshot then also replaces the journal
		}
		saved, _, err := saveSteps(f, tinyRun(), true, false)
		assert.NilError(t, err)
		withDisk(t, &busyDisk{realDisk{}, func() {
			_, _, err := saveSteps(f, saved[1], []bool{true, false, false, false}[:1+steps]...)
			assert.Check(t, err)
		}})
		if got, err := Read(dir, "run-1"); err != nil || got.Progress.Seq < 2 {
			t.Errorf("a snapshot and %d steps: got %v, %v, want step 2 or later", steps, got, err)
		}
		f.Close()
	}
}
