package sitetest

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"gotest.tools/v3/assert"
)

// History records every checkpoint that a server has ever stored, and which of them existed after
// each change.
type History struct {
	mu      sync.Mutex // guards the fields below
	all     []artifactstest.Artifact
	shelves []invarianttest.StoreListing
	forged  bool
}

// Watch starts to record the checkpoints of a server.
func Watch(s *artifactstest.Server) *History {
	h := &History{}
	s.OnChange = h.record
	return h
}

// Disable makes Evidence return nothing, so that no invariants are checked. It is for tests that store
// artifacts themselves.
func (h *History) Disable() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forged = true
}

func (h *History) record(list []artifactstest.Artifact) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var there []int
	for _, a := range list {
		if !IsCheckpoint(a) {
			continue
		}
		at := slices.IndexFunc(h.all, func(b artifactstest.Artifact) bool { return a.ID == b.ID && a.Created.Equal(b.Created) })
		if at < 0 {
			at = len(h.all)
			h.all = append(h.all, a)
		}
		there = append(there, at)
	}
	h.shelves = append(h.shelves, invarianttest.StoreListing{Stored: len(h.all), Present: there})
}

// Evidence returns the recorded checkpoints as evidence for the invariants. The evidence is empty after
// Disable, or if a checkpoint was sealed with other keys.
func (h *History) Evidence(t testing.TB, keys *checkpoint.Keys) invarianttest.Evidence {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var l invarianttest.Evidence
	if h.forged {
		return l
	}
	for _, a := range h.all {
		if keys != nil {
			l.Sealed = append(l.Sealed, unpack(t, a.Content)...)
		}
		s, err := readStored(t, a, keys)
		if errors.Is(err, checkpoint.ErrSealed) {
			return invarianttest.Evidence{}
		}
		if err != nil {
			t.Errorf("checkpoint %s of workflow run %d: %v", a.Name, a.Run, err)
			continue
		}
		l.Checkpoints = append(l.Checkpoints, invarianttest.StoredCheckpoint{Digest: s.Digest, Manifest: s.Manifest, Run: s.Run})
	}
	l.StoreListings, l.Secrets = h.shelves, []string{`"workflow_id":`, `"type":"run_started"`}
	return l
}

// unpack returns an archive and the contents of all its files.
func unpack(t testing.TB, archive []byte) [][]byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	assert.NilError(t, err)
	list := [][]byte{archive}
	for _, f := range r.File {
		data, err := fs.ReadFile(r, f.Name)
		assert.Check(t, err)
		list = append(list, data)
	}
	return list
}
