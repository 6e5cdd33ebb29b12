package checkpoints

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// Began describes the beginning of a run. Every checkpoint of the run contains it, for later
// segments.
type Began struct {
	KeyOf    *checkpoint.KeyOrigin `json:"key_of,omitempty"`
	Checkout string                `json:"checkout,omitempty"` // the commit that the job checked out; "" if unknown
	Input    string                `json:"input,omitempty"`    // SHA-256 of the input, in hex; "" if unknown
	// Supersedes is the run that this run has replaced; zero for none.
	Supersedes checkpoint.SupersededRun `json:"supersedes,omitzero"`
}

// Chain is the state of a run's sequence of checkpoints. A Store saves it in a file, so that the
// post phase of the step can add checkpoints.
type Chain struct {
	Generation int              `json:"generation"` // of the last checkpoint; 0 before the first one
	Digest     string           `json:"digest"`     // of its manifest
	Base       *checkpoint.Base `json:"base,omitempty"`
	Seq        int              `json:"seq"`    // the step of the run that the last checkpoint contains
	Status     state.Status     `json:"status"` // of the run in the last checkpoint
	Began      Began            `json:"began"`
	Name       string           `json:"name"`   // of the artifact
	Stored     int              `json:"stored"` // how many artifacts this job has stored
	// Existing are the artifacts that this step may replace, as slots.Slots.Own returns them. The
	// last one may be an upload that had not been confirmed when the chain was saved.
	Existing []artifacts.Artifact `json:"standing"`
	// Sessions has the conversations that the run needs, as this step has left them; nil before the
	// end of the run is stored.
	Sessions map[string]left `json:"sessions,omitempty"`
}

// ChainFile is the name of the chain's file in the run's directory.
const ChainFile = "checkpoint.json"

// ReadChain reads the chain of a run from the run's directory. The error is an fs.ErrNotExist if no
// checkpoint of the run was to be stored.
func ReadChain(dir string) (c Chain, err error) {
	err = ReadNote(filepath.Join(dir, ChainFile), &c)
	return c, err
}
