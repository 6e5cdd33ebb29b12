package checkpoints

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// Began is how a run began, for the later parts of it, which read it in its
// checkpoints.
type Began struct {
	KeyOf    *checkpoint.KeyOrigin `json:"key_of,omitempty"`
	Checkout string                `json:"checkout,omitempty"` // the commit of the checkout; "" when unknown
	Input    string                `json:"input,omitempty"`    // SHA-256 of it, in hex; "" when unknown
	// Supersedes is the run that this run has replaced; zero for none.
	Supersedes checkpoint.SupersededRun `json:"supersedes,omitzero"`
}

// Chain is how far the sequence of a run's checkpoints has come. A Store keeps it in
// a file, so that the post part of the step can add to it.
type Chain struct {
	Generation int              `json:"generation"` // of the last checkpoint; 0 before the first one
	Digest     string           `json:"digest"`     // of its manifest
	Base       *checkpoint.Base `json:"base,omitempty"`
	Seq        int              `json:"seq"`    // the step of the run that it has
	Status     state.Status     `json:"status"` // of the run in it
	Began      Began            `json:"began"`
	Name       string           `json:"name"`   // of the artifact
	Stored     int              `json:"stored"` // artifacts by this job
	// Existing are the artifacts that this part of the run may replace, as slots.Slots.Own has
	// them. The last may be an archive that was being stored, and of which it is not known
	// whether it has arrived.
	Existing []artifacts.Artifact `json:"standing"`
	// Sessions are the conversations that the run needs, as this part of it has left
	// them; nil before its end is stored.
	Sessions map[string]left `json:"sessions,omitempty"`
}

// ChainFile is the name of the file with the chain, in the folder of the run.
const ChainFile = "checkpoint.json"

// ReadChain reads the chain of a run from the folder of its own files. The error is
// an fs.ErrNotExist where nothing of the run was ever to be stored.
func ReadChain(dir string) (c Chain, err error) {
	err = ReadNote(filepath.Join(dir, ChainFile), &c)
	return c, err
}
