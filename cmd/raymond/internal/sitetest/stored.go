package sitetest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// IsCheckpoint reports whether an artifact's name is the name of a checkpoint. Other artifacts are claims,
// reports and spending records.
func IsCheckpoint(a artifactstest.Artifact) bool {
	return checkpointName.MatchString(a.Name) && !strings.HasPrefix(a.Name, "raymond-spent-")
}

var checkpointName = regexp.MustCompile(`^raymond-.+-[0-2]$`)

// StoredRun is a checkpoint that was stored as an artifact.
type StoredRun struct {
	Name     string // the artifact's name
	Manifest checkpoint.Manifest
	Digest   string // the checkpoint's digest, which the next checkpoint contains
	Dir      string // the folder with the checkpoint's files
	Run      *state.Run
}

// String formats the checkpoint for a failure message.
func (s StoredRun) String() string {
	return fmt.Sprintf("%s: generation %d, step %d, %s", s.Name, s.Manifest.Generation, s.Manifest.Seq, s.Manifest.Status)
}

// ReadStored unpacks a checkpoint. keys are the keys with which it was sealed, or nil if it wasn't sealed.
func ReadStored(t testing.TB, a artifactstest.Artifact, keys *checkpoint.Keys) StoredRun {
	t.Helper()
	s, err := readStored(t, a, keys)
	assert.NilError(t, err, a.Name)
	return s
}

func readStored(t testing.TB, a artifactstest.Artifact, keys *checkpoint.Keys) (StoredRun, error) {
	s := StoredRun{Name: a.Name, Dir: t.TempDir()}
	f, err := os.Create(filepath.Join(t.TempDir(), "checkpoint.zip"))
	if err != nil {
		return s, err
	}
	defer f.Close()
	if _, err := f.Write(a.Content); err != nil {
		return s, err
	}
	if s.Manifest, s.Digest, err = checkpoint.Read(checkpoint.ReadRequest{File: f, Size: int64(len(a.Content)), Keys: keys, Dir: s.Dir}); err != nil {
		return s, err
	}
	data, err := os.ReadFile(filepath.Join(s.Dir, "state.json"))
	if err != nil {
		return s, err
	}
	s.Run, err = state.Decode(data)
	return s, err
}

// NewStateKey returns a new value for the input state-key.
func NewStateKey(t testing.TB) string {
	t.Helper()
	key, err := checkpoint.NewKey()
	assert.NilError(t, err)
	return key
}
