//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/state"
)

// strangers is the session of a conversation.
const strangers = "11111111-2222-4333-8444-555555555555"

// leanDepot is a depot of a run without a job.
func leanDepot(t *testing.T, git *workspace.Git) (*depot, *image, *[]string) {
	t.Helper()
	dir := t.TempDir()
	hides, _ := secrets.New(nil)
	var told []string
	d := &depot{
		dir: dir, temp: dir, mask: hides, git: git, isOpen: func() bool { return false }, warn: func(text string) { told = append(told, text) },
		origin: checkpoint.Manifest{
			RepositoryID: 1, Repository: "o/r", Workflow: ".github/workflows/w.yml", Key: "k", RunID: 1, RunAttempt: 1, Job: "j", Event: "push",
			Places: checkpoint.Places{Workspace: "/w", Temp: "/t", OS: "linux"}, Program: "test",
		},
	}
	img := &image{
		manifest: checkpoint.Manifest{WorkflowID: "k-12345678", Status: state.Suspended, Seq: 1, Created: time.Now()},
		state:    []byte("{}"), dir: dir, dirs: []string{dir},
	}
	return d, img, &told
}

// TestTheStateAloneIsStored where the archive of all of it can't be written, at the
// end of a run; before that the next state tries it again.
func TestTheStateAloneIsStored(t *testing.T) {
	t.Parallel()
	d, img, told := leanDepot(t, nil)
	transcript := filepath.Join(d.dir, "t.jsonl")
	if err := os.WriteFile(transcript, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	img.transcripts = []checkpoint.Part{{Name: checkpoint.TranscriptName(strangers), Path: transcript, Size: 1000}}
	img.manifest.Transcripts = []checkpoint.Transcript{{Session: strangers, Dir: "/w"}}
	f, err := os.Create(filepath.Join(d.dir, "c.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := d.write(t.Context(), f, img); err == nil {
		t.Error("beside the run: got no error, want one")
	}
	img.isLast = true
	w, err := d.write(t.Context(), f, img)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := checkpoint.Read(checkpoint.Reading{File: f, Size: w.Size, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Files) != 1 || m.Files[0].Name != "state.json" || len(m.Transcripts) != 0 {
		t.Errorf("stored: got %v with %v, want the state alone", m.Files, m.Transcripts)
	}
	if len(m.LeftOut) != 1 || m.LeftOut[0] != (checkpoint.LeftOut{What: "transcripts", Held: true, Why: checkpoint.Unpacked}) {
		t.Errorf("left out: got %v, want the transcripts, because of the disk", m.LeftOut)
	}
	if len(*told) != 1 || !strings.Contains((*told)[0], "state alone") || len(d.notes) != 1 {
		t.Errorf("told: got %q and the notes %q, want that the state is stored alone", *told, d.notes)
	}
	if d.sessions[strangers].Kept {
		t.Error("the conversation is taken for one that is stored")
	}
}

// TestPackingLeavesTimeToStore: work that takes too long to pack is left out.
func TestPackingLeavesTimeToStore(t *testing.T) {
	t.Setenv("PATH", sitetest.BrokenGit(t, "exec sleep 300"))
	repo := acttest.Repository(t, "")
	if err := os.WriteFile(filepath.Join(repo, "new.txt"), []byte("work"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, img, _ := leanDepot(t, &workspace.Git{Env: os.Environ()})
	img.dirs, img.isLast = []string{repo}, true
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	w, err := d.snapshot(ctx, img)
	if err != nil || w.lost != checkpoint.Unpacked || ctx.Err() != nil {
		t.Errorf("got %+v, %v, and the time is over: %v; want the work left out in time", w, err, ctx.Err())
	}
}
