package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/state"
)

// Schema is the version of the checkpoints that this program writes, and the
// only one it reads.
const Schema = 1

// Manifest says what a checkpoint is. Digests are "sha256:" and 64 hex digits.
type Manifest struct {
	Schema int `json:"schema"` // set by Write

	RepositoryID int64  `json:"repository_id"`
	Repository   string `json:"repository"`
	Workflow     string `json:"workflow"` // path of the workflow file: .github/workflows/x.yml
	Key          string `json:"key"`      // identity of the run among those of the workflow file
	WorkflowID   string `json:"workflow_id"`

	Generation int `json:"generation"` // from 1
	// Previous is the digest of the checkpoint before, "" for the first.
	Previous string `json:"previous,omitzero"`
	// Base is the checkpoint that this workflow run took up, nil for a new run.
	Base *Base `json:"base,omitzero"`

	RunID      int64  `json:"run_id"`
	RunAttempt int    `json:"run_attempt"`
	Job        string `json:"job"`
	Event      string `json:"event"`           // that started the job
	Number     int    `json:"number,omitzero"` // of the issue or pull request, 0 for none

	Status state.Status `json:"status"`
	// Reason says why the run is not running. Write masks it.
	Reason     string    `json:"reason,omitzero"`
	Seq        int       `json:"seq"` // steps committed so far
	TotalUSD   state.USD `json:"total_usd"`
	Iterations int       `json:"iterations"`

	Places      Places       `json:"places"` // of the saving machine
	Transcripts []Transcript `json:"transcripts,omitzero"`
	LeftOut     []LeftOut    `json:"left_out,omitzero"`
	Created     time.Time    `json:"created"` // in UTC, whole milliseconds
	Program     string       `json:"program"` // version that wrote it

	Files []File `json:"files"` // in order of their names; set by Write
}

// Places are folders of a machine, absolute.
type Places struct {
	Workspace string `json:"workspace"`
	Temp      string `json:"temp"`
	OS        string `json:"os"` // as runtime.GOOS has it
}

// Base is a checkpoint that a workflow run took up.
type Base struct {
	ArtifactID int64  `json:"artifact_id"`
	Digest     string `json:"digest"` // "" when unknown
	RunID      int64  `json:"run_id"`
}

// LeftOut says what was not stored, for want of a key in a public repository.
type LeftOut struct {
	What string `json:"what"` // "transcripts" or "workspace"
	Held bool   `json:"held"` // there was something
}

// Lacks names what was not stored of what there was: a run that goes on from the
// checkpoint has to do without it.
func (m *Manifest) Lacks() []string {
	var lacks []string
	for _, l := range m.LeftOut {
		if l.Held {
			lacks = append(lacks, l.What)
		}
	}
	return lacks
}

// Transcript is a conversation whose transcript is stored, as
// transcripts/{Session}.jsonl.
type Transcript struct {
	Session string `json:"session"` // a UUID in lower case
	// Dir is the absolute directory, on the saving machine, that the conversation
	// was held in.
	Dir string `json:"dir"`
}

// File is one stored file.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hex
}

// encode returns the bytes of manifest.json.
func (m *Manifest) encode() ([]byte, error) { return encodeJSON(m) }

func encodeJSON(v any) ([]byte, error) {
	data, err := jsonv2.Marshal(v, jsontext.WithIndent(" "))
	return append(data, '\n'), err
}

// digest returns the digest of a manifest's exact bytes.
func digest(manifest []byte) string {
	sum := sha256.Sum256(manifest)
	return "sha256:" + hex.EncodeToString(sum[:])
}
