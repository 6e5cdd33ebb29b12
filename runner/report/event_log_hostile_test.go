package report

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// TestSparseLogsAreRejected checks that reading a log of terabytes fails without using much memory.
// An agent may create a log of this size as a sparse file.
func TestSparseLogsAreRejected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	assert.NilError(t, os.WriteFile(path, nil, 0o600))
	assert.NilError(t, os.Truncate(path, 8<<40), "the file system of the temporary folder has no files of that size; name another one by TMPDIR")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if l, err := OpenEventLog(path, runID); err == nil || !strings.Contains(err.Error(), "a line of more than") {
		t.Errorf("OpenEventLog: got %v, %v", l, err)
	}
	assert.Check(t, NewEventLog(os.Stderr, runID, 0).CopyFrom(path) != nil, "CopyFrom: got no error")
	_, err := read(path)
	assert.Check(t, err != nil, "Events: got no error")
	runtime.ReadMemStats(&after)
	got := (after.TotalAlloc - before.TotalAlloc) >> 20
	assert.Check(t, got <= 1024, "all together allocated %d MiB", got)
}

// TestEventsOfManyValuesAreRejected checks that a line with very many JSON values is rejected.
// Decoding it would need many times the memory that the line needs.
func TestEventsOfManyValuesAreRejected(t *testing.T) {
	line := `{"type":"run_finished","a":[` + strings.Repeat("{},", jsonstrict.MaxValues) + "{}]}\n"
	path := filepath.Join(t.TempDir(), "events.jsonl")
	must(t, os.WriteFile(path, []byte(line), 0o600))
	_, err := read(path)
	assert.Check(t, err != nil && strings.Contains(err.Error(), jsonstrict.ErrTooMuch.Error()), "got %v, want %v", err, jsonstrict.ErrTooMuch)
}
