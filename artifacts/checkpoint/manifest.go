package checkpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/state"
)

// Schema is the version of the checkpoint format. This program writes and reads only this version.
const Schema = 5

// Manifest describes a checkpoint. Digests are "sha256:" and 64 hex digits.
type Manifest struct {
	Schema int `json:"schema"` // set by Write

	RepositoryID int64  `json:"repository_id"`
	Repository   string `json:"repository"`
	Workflow     string `json:"workflow"` // path of the workflow file, for example .github/workflows/x.yml
	Key          string `json:"key"`      // name that distinguishes the run from other runs of the workflow file
	// KeyOrigin is the job that started the run under Key. It is nil if that job is unknown.
	KeyOrigin  *KeyOrigin `json:"key_of,omitzero"`
	WorkflowID string     `json:"workflow_id"`

	// Part is the part of a matrix that the checkpoint belongs to, with the number of each agent's hand-over.
	// It is nil in a checkpoint of the run itself.
	Part *state.Part `json:"part,omitzero"`

	Generation int `json:"generation"` // number of the checkpoint, starting at 1
	// Previous is the digest of the previous checkpoint. It is empty in the first checkpoint.
	Previous string `json:"previous,omitzero"`
	// Base is the checkpoint that this workflow run resumed. It is nil if the run is new.
	Base *Base `json:"base,omitzero"`

	RunID      int64  `json:"run_id"`
	RunAttempt int    `json:"run_attempt"`
	Job        string `json:"job"`
	Runner     string `json:"runner,omitzero"` // name of the runner that runs the job
	Event      string `json:"event"`           // event that started the job
	// Kind, Number and Title describe the issue or pull request that the run is about. They come from the
	// event or from the run's earlier jobs. If the run is about neither, they are zero. Write masks the
	// title.
	Kind   string `json:"kind,omitzero"` // "issue" or "pr"
	Number int    `json:"number,omitzero"`
	Title  string `json:"title,omitzero"`
	// Head is the commit that the run is about: the head of the pull request or merge group, or the pushed
	// commit. It is empty if the run is not about a commit.
	Head string `json:"head,omitzero"`
	// Supersedes is the unfinished run of another head that this run replaces. It is zero if the run
	// replaces no other run.
	Supersedes SupersededRun `json:"supersedes,omitzero"`
	// Untrusted means that the run worked on an untrusted checkout. In later jobs, the agent CLI must not
	// obey configuration files in the checkout.
	Untrusted bool `json:"untrusted,omitzero"`

	Status state.Status `json:"status"`
	// Reason explains why the run stopped. Write masks it.
	Reason   string    `json:"reason,omitzero"`
	Seq      int       `json:"seq"` // number of saved steps
	TotalUSD state.USD `json:"total_usd"`
	// Estimated means that TotalUSD is partly an estimate.
	Estimated  bool `json:"cost_estimated,omitzero"`
	Iterations int  `json:"iterations"`

	// Ended means that the action step is over, even if Status is still running: its post phase wrote this
	// checkpoint.
	Ended bool `json:"ended,omitzero"`

	// Checkout is the commit that was checked out in the job that started the run. It is empty if unknown.
	Checkout string `json:"checkout,omitzero"`
	// Input is the SHA-256 of the run's original input, in hex. It is empty if unknown.
	Input string `json:"input_sha256,omitzero"`

	Dirs        MachineDirs  `json:"places"` // directories of the machine that wrote the checkpoint
	Transcripts []Transcript `json:"transcripts,omitzero"`
	Omissions   []Omission   `json:"left_out,omitzero"`
	Created     time.Time    `json:"created"` // in UTC and whole milliseconds
	Program     string       `json:"program"` // version of this program

	Files []File `json:"files"` // sorted by name; set by Write
}

// KeyOrigin is the job that started a run under its key.
type KeyOrigin struct {
	Job string `json:"job"` // the job's id in the workflow file; empty if the runner doesn't provide it
	// Matrix is a digest of the job's matrix values. It is empty if the job has no matrix.
	Matrix string `json:"matrix,omitzero"`
	// Default means that the job sets no key and uses the default key.
	Default bool `json:"default,omitzero"`
	// Others are the ids of other jobs that have resumed the run under this key.
	Others []string `json:"others,omitzero"`
}

// maxOthers is the maximum number of jobs in KeyOrigin.Others.
const maxOthers = 32

// WithJob returns a KeyOrigin whose Others include the id of a job that resumes the run. It doesn't change
// k. If the list is full, the job is not added.
func (k *KeyOrigin) WithJob(job string) *KeyOrigin {
	if job == "" || job == k.Job || slices.Contains(k.Others, job) || len(k.Others) == maxOthers {
		return k
	}
	more := *k
	more.Others = append(slices.Clone(k.Others), job)
	return &more
}

// PartName returns the name of the part of a matrix that the checkpoint belongs to. It returns "" for a
// checkpoint of the run itself.
func (m *Manifest) PartName() string {
	if m.Part == nil {
		return ""
	}
	return m.Part.Name
}

// MachineDirs are directories of a machine, as absolute paths.
type MachineDirs struct {
	Workspace string `json:"workspace"`
	Temp      string `json:"temp"`
	OS        string `json:"os"` // the value of runtime.GOOS
}

// SupersededRun identifies a run that no later job resumes automatically, because a run of another head
// has replaced it.
type SupersededRun struct {
	WorkflowID string `json:"workflow_id"`
	Head       string `json:"head"`
}

// Base is a checkpoint that a workflow run resumed.
type Base struct {
	ArtifactID int64  `json:"artifact_id"`
	Digest     string `json:"digest"` // empty if unknown
	RunID      int64  `json:"run_id"`
}

// Reasons why data is missing from a checkpoint, for Omission.Why.
const (
	NoKey    = "key"  // anyone can read the artifacts, and no state-key is set
	TooLarge = "size" // the data has more than 256 MiB
	NoGit    = "git"  // the machine has no git, and the run has prompts
	FromFork = "fork" // the event came from a fork, whose runs are never resumed

	// Reasons why packing the data failed:
	DiskFull   = "disk"
	NoObjects  = "objects" // the clone is partial, and origin doesn't provide the missing objects
	TooSlow    = "time"
	NoMemory   = "memory"
	NotAllowed = "permissions"
	NotPacked  = "error" // another reason
)

// Omission describes data that was left out of a checkpoint.
type Omission struct {
	What    string `json:"what"` // "transcripts" or "workspace"
	Existed bool   `json:"held"` // there was data to store
	Why     string `json:"why"`  // a reason from the list above
}

// Missing returns the kinds of data that existed but were not stored, so that a resumed run lacks them.
func (m *Manifest) Missing() []string {
	var missing []string
	for _, l := range m.Omissions {
		if l.Existed {
			missing = append(missing, l.What)
		}
	}
	return missing
}

// causes describes each reason for an Omission in messages. Some texts also contain advice.
var causes = map[string]string{
	NoKey:     "anyone can read the artifacts of a public repository, and no state-key was set; set a state-key to store it encrypted",
	TooLarge:  "it has more than 256 MiB; list large generated files in .gitignore",
	NotPacked: "it could not be packed on the machine that had it",
	NoGit:     "git, which stores the files, was not installed on the machine that had it",
	FromFork:  "the event came from a fork",

	DiskFull:   "the disk of the machine that had it was full",
	NoObjects:  "the clone was partial, and origin did not provide the missing objects",
	TooSlow:    "packing took too long on the machine that had it",
	NoMemory:   "memory ran out on the machine that had it",
	NotAllowed: "files could not be read on the machine that had it",
}

// OmissionReasons returns texts for users about why data in Missing was not stored. Each text occurs once.
func (m *Manifest) OmissionReasons() []string {
	var list []string
	for _, l := range m.Omissions {
		text := cmp.Or(causes[l.Why], l.Why)
		if l.Existed && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// Transcript describes a conversation whose transcript is stored.
type Transcript struct {
	Session string `json:"session"` // a UUID in lower case
	// Backend is the agent CLI of the conversation. Its name is in protocol.Backends.
	Backend string `json:"backend"`
	// CLIID is the id that the agent CLI itself uses for the conversation, as in state.Session.
	CLIID string `json:"cli_id,omitzero"`
	// Dir is the absolute working directory of the conversation on the machine that wrote the checkpoint.
	Dir string `json:"dir"`
}

// Name returns the name of the transcript's file in the checkpoint.
func (t Transcript) Name() string { return transcripts + path.Join(t.Backend, t.Session+".jsonl") }

// File describes one file in a checkpoint.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hex
}

// encodeJSON encodes the manifest or the header as an indented JSON file.
func encodeJSON(v any) ([]byte, error) {
	data, err := jsonv2.Marshal(v, jsontext.WithIndent(" "))
	return append(data, '\n'), err
}

// digest returns "sha256:" and the hash of the bytes of a manifest file.
func digest(manifest []byte) string {
	sum := sha256.Sum256(manifest)
	return "sha256:" + hex.EncodeToString(sum[:])
}
