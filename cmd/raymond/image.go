package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/state"
)

// image is a run as it was after one of its steps: what a checkpoint is made of.
// Of files that only grow it has the length at that step; what comes later
// belongs to steps that the state does not have.
type image struct {
	manifest    checkpoint.Manifest // what the run itself tells
	state       []byte
	events      checkpoint.Part
	transcripts []checkpoint.Part
	dir         string   // of the run's own files
	isLast      bool     // of this part of the run: no other one follows
	dirs        []string // where agents work, the run's own first
}

// takeImage is quick: the owner of the run waits for it.
func takeImage(run *state.Run, dir string, sessions transcript.Folder) (*image, error) {
	data, err := run.Encode()
	if err != nil {
		return nil, err
	}
	img := &image{state: data, dir: dir, dirs: directories(run)}
	p := &run.Progress
	img.manifest = checkpoint.Manifest{
		WorkflowID: run.WorkflowID, Status: p.Status, Reason: p.Reason,
		Seq: p.Seq, TotalUSD: p.TotalUSD, Estimated: run.Spent().Estimated, Iterations: p.Iterations, Created: time.Now().UTC().Truncate(time.Millisecond),
	}
	for _, s := range checkpoint.Sessions(run) {
		t, ok := sessions.Find(s.ID, s.Dirs)
		if !ok {
			continue
		}
		img.transcripts = append(img.transcripts, checkpoint.Part{Name: checkpoint.TranscriptName(s.ID), Path: t.Path, Size: t.Size})
		img.manifest.Transcripts = append(img.manifest.Transcripts, checkpoint.Transcript{Session: s.ID, Dir: t.Dir})
	}
	log := filepath.Join(dir, "events.jsonl")
	if info, err := os.Stat(log); err == nil {
		img.events = checkpoint.Part{Name: "events.jsonl", Path: log, Size: info.Size()}
	}
	return img, nil
}

// maxLogs bounds the logs of verified attempts in a checkpoint, in bytes.
const maxLogs = 128 << 20

// logs are the logs of verified attempts, as far as they fit.
func (img *image) logs() ([]checkpoint.Part, error) {
	var parts []checkpoint.Part
	room := int64(maxLogs)
	root := filepath.Join(img.dir, "logs")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil && path == root {
			return nil // there are none
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(img.dir, path)
		name := filepath.ToSlash(rel)
		if err != nil || checkpoint.CheckName(name) != nil || info.Size() > room {
			return err
		}
		room -= info.Size()
		size := info.Size()
		if name == commentFile {
			size = -1 // another goroutine replaces it whole, and it may become shorter
		}
		parts = append(parts, checkpoint.Part{Name: name, Path: path, Size: size})
		return nil
	})
	return parts, err
}

// directories are the directories in which agents of a run work or to which they
// return, the run's own first.
func directories(run *state.Run) []string {
	dirs := []string{run.Dir}
	add := func(dir string) {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, a := range run.Agents {
		add(a.Dir)
		for _, f := range a.Stack {
			add(f.Dir)
		}
	}
	return dirs
}
