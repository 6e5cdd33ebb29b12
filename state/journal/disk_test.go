package journal

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

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
