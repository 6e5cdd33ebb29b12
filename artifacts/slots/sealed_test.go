package slots_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

// newKeys makes a state-key.
func newKeys(t *testing.T) *checkpoint.Keys {
	t.Helper()
	line, err := checkpoint.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := checkpoint.ParseKeys(line)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// storeReal stores a real checkpoint as a job of run 1 does, through its slots.
func storeReal(t *testing.T, slots *slots.Slots, keys *checkpoint.Keys) checkpoint.Written {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "checkpoint.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := checkpoint.Write(f, checkpoint.Writing{
		Manifest: checkpoint.Manifest{
			RepositoryID: artifactstest.Repository, Repository: "o/r", Workflow: ownFile, Key: key, WorkflowID: "ci-yml-issue-7-00000001", Generation: 1,
			RunID: 1, RunAttempt: 1, Job: "build", Event: "issues", Status: state.Suspended, Created: time.Unix(1e9, 0),
			Places: checkpoint.Places{Workspace: "/w", Temp: "/t", OS: "linux"},
		},
		Parts: []checkpoint.Part{{Name: "state.json", Data: []byte("{}")}},
		Keys:  keys,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slots.Store(t.Context(), 1, f, w.Size); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestACheckpointComesBack with the key that it was sealed with, and with no
// other.
func TestACheckpointComesBack(t *testing.T) {
	ours, theirs := newKeys(t), newKeys(t)
	var invalid *checkpoint.Invalid
	for name, tt := range map[string]struct {
		sealed, opened *checkpoint.Keys
		wants          func(error) bool
	}{
		"no key":    {nil, nil, nil},
		"same key":  {ours, ours, nil},
		"key lost":  {ours, nil, func(err error) bool { return errors.Is(err, checkpoint.ErrSealed) }},
		"forged":    {nil, ours, func(err error) bool { return errors.Is(err, checkpoint.ErrNotSigned) }},
		"other key": {theirs, ours, func(err error) bool { return errors.As(err, &invalid) }},
	} {
		behaving(t, func(s *scene) {
			s.addRun(1, nil)
			w := storeReal(s.t, slotsOf(runtimeOf(s.t, s.Server, 1)), tt.sealed)
			q := s.query(slots.Auto)
			q.Read = func(f *os.File, size int64, dir string) (checkpoint.Manifest, string, error) {
				return checkpoint.Read(checkpoint.Reading{File: f, Size: size, Keys: tt.opened, Dir: dir})
			}
			found, err := s.find(q)
			if tt.wants != nil {
				if !tt.wants(err) {
					s.t.Errorf("%s: %v", name, err)
				}
				return
			}
			if err != nil || found.Manifest == nil || found.Digest != w.Digest {
				s.t.Errorf("%s: found %+v, %v; want digest %s", name, found, err, w.Digest)
			}
		})
	}
}
