//go:build linux

package store

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestFullDiskStoresTheStateFromMemory checks that the last snapshot is stored from memory, with
// only its state, if no files can be written, and that a single warning names the cause. Here the
// directories for the files can't be created.
func TestFullDiskStoresTheStateFromMemory(t *testing.T) {
	memory := Memory{archive: map[string][]archived{}}
	to := &memoryShelf{memory: &memory, place: "k"}
	w, log := testWriter(t, to)
	shot, file := testSnapshot(w.dir), filepath.Join(w.dir, "file")
	addConversation(t, shot, "said", 4)
	write(t, file, "")
	w.dir, w.c.Dir, w.packer.temp = filepath.Join(file, "run"), filepath.Join(file, "temp"), filepath.Join(file, "temp")
	w.packer.tree = &Worktree{Git: &workspace.Git{Env: os.Environ()}}
	if _, err := w.save(t.Context(), shot); err == nil || to.Stored() > 0 {
		t.Fatalf("before the end: got %v and %d checkpoints, want an error and none", err, to.Stored())
	}
	shot.isLast = true
	got, err := w.save(t.Context(), shot)
	assert.Assert(t, err == nil && got.SeqStored == 1 && w.chain.Generation == 1, "at the end: got %+v, %v, want it stored", got, err)
	stored := memory.archive["k"][0].data
	m, names := read(t, built{archive: bytes.NewReader(stored), WriteResult: checkpoint.WriteResult{Size: int64(len(stored))}, remove: func() {}})
	want := []checkpoint.Omission{{What: "transcripts", Existed: true, Why: checkpoint.NotPacked}, {What: "workspace", Existed: true, Why: checkpoint.NotPacked}}
	assert.Check(t, is.DeepEqual(names, []string{"state.json"}), "stored")
	assert.Check(t, is.DeepEqual(m.Omissions, want), "stored")
	assert.Check(t, is.DeepEqual(w.omissions(), want), "of the writer")
	assert.Check(t, len(m.Transcripts) == 0 && !w.chain.Sessions[sessionID].Kept, "the conversation counts as stored")
	if len(log.warnings) != 1 || strings.Count(log.warnings[0], "not a directory") != 1 || !slices.Equal(w.last.notes, log.warnings) {
		t.Errorf("got the warnings %q and the notes %q, want one warning that has the cause once", log.warnings, w.last.notes)
	}
}
