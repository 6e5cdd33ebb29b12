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

// Schema is the version of the checkpoints that this program writes, and the only one
// that it reads.
const Schema = 5

// Manifest says what a checkpoint is. Digests are "sha256:" and 64 hex digits.
type Manifest struct {
	Schema int `json:"schema"` // set by Write

	RepositoryID int64  `json:"repository_id"`
	Repository   string `json:"repository"`
	Workflow     string `json:"workflow"` // path of the workflow file: .github/workflows/x.yml
	Key          string `json:"key"`      // identity of the run among those of the workflow file
	// KeyOrigin says whose key that is; nil where that is not known.
	KeyOrigin  *KeyOrigin `json:"key_of,omitzero"`
	WorkflowID string     `json:"workflow_id"`

	// Part is the part of a matrix that this is a checkpoint of, with the number of each
	// agent's hand-over; nil for the run itself.
	Part *state.Part `json:"part,omitzero"`

	Generation int `json:"generation"` // from 1
	// Previous is the digest of the checkpoint before, "" for the first.
	Previous string `json:"previous,omitzero"`
	// Base is the checkpoint that this workflow run took up, nil for a new run.
	Base *Base `json:"base,omitzero"`

	RunID      int64  `json:"run_id"`
	RunAttempt int    `json:"run_attempt"`
	Job        string `json:"job"`
	Runner     string `json:"runner,omitzero"` // name of the runner that had the job
	Event      string `json:"event"`           // that started the job
	// Kind, Number and Title are of the issue or pull request that the run is about, which
	// is that of the event, or of the part of the run before; zero for none. Write masks
	// the title.
	Kind   string `json:"kind,omitzero"` // "issue" or "pr"
	Number int    `json:"number,omitzero"`
	Title  string `json:"title,omitzero"`
	// Head is the head commit of the pull request or merge group, or the pushed commit, that the
	// run is about; "" for none.
	Head string `json:"head,omitzero"`
	// Supersedes is the unfinished run of another head that this run has replaced; zero for none.
	Supersedes SupersededRun `json:"supersedes,omitzero"`
	// Untrusted says that a job had the run work on a checkout that isn't trusted: no later
	// one may have the agent CLI obey what lies in it.
	Untrusted bool `json:"untrusted,omitzero"`

	Status state.Status `json:"status"`
	// Reason says why the run is not running. Write masks it.
	Reason   string    `json:"reason,omitzero"`
	Seq      int       `json:"seq"` // steps committed so far
	TotalUSD state.USD `json:"total_usd"`
	// Estimated says that part of TotalUSD is an estimate.
	Estimated  bool `json:"cost_estimated,omitzero"`
	Iterations int  `json:"iterations"`

	// IntervalMS is how often the run is stored while it is driven, at least; 0 when
	// unknown.
	IntervalMS int64 `json:"interval_ms,omitzero"`
	// Ended says that the step that drove the run is over, whatever Status says: the
	// post part of the step wrote this.
	Ended bool `json:"ended,omitzero"`

	// Checkout is the commit that the job was checked out at in which the run began;
	// "" when unknown.
	Checkout string `json:"checkout,omitzero"`
	// Input is the SHA-256 of the input that the run began with, in hex; "" when
	// unknown.
	Input string `json:"input_sha256,omitzero"`

	Dirs        MachineDirs  `json:"places"` // of the saving machine
	Transcripts []Transcript `json:"transcripts,omitzero"`
	Omissions   []Omission   `json:"left_out,omitzero"`
	Created     time.Time    `json:"created"` // in UTC, whole milliseconds
	Program     string       `json:"program"` // version that wrote it

	Files []File `json:"files"` // in order of their names; set by Write
}

// KeyOrigin is the job in which a run began under its key.
type KeyOrigin struct {
	Job string `json:"job"` // its id in the workflow file; "" where the runner doesn't tell
	// Matrix is the digest of the values of its leg of a matrix; "" for none.
	Matrix string `json:"matrix,omitzero"`
	// Default says that the job named no key, so that it has the default one.
	Default bool `json:"default,omitzero"`
	// Others are the ids of further jobs that have resumed the run under this key.
	Others []string `json:"others,omitzero"`
}

// maxOthers bounds KeyOf.Others.
const maxOthers = 32

// WithJob returns the same for a run that is resumed by a job.
func (k *KeyOrigin) WithJob(job string) *KeyOrigin {
	if job == "" || job == k.Job || slices.Contains(k.Others, job) || len(k.Others) == maxOthers {
		return k
	}
	more := *k
	more.Others = append(slices.Clone(k.Others), job)
	return &more
}

// PartName is the name of the part of a matrix that this is a checkpoint of; "" for the
// run itself.
func (m *Manifest) PartName() string {
	if m.Part == nil {
		return ""
	}
	return m.Part.Name
}

// MachineDirs are folders of a machine, absolute.
type MachineDirs struct {
	Workspace string `json:"workspace"`
	Temp      string `json:"temp"`
	OS        string `json:"os"` // as runtime.GOOS has it
}

// SupersededRun is a run that no later job resumes by itself, because a run of another head has
// replaced it.
type SupersededRun struct {
	WorkflowID string `json:"workflow_id"`
	Head       string `json:"head"`
}

// Base is a checkpoint that a workflow run took up.
type Base struct {
	ArtifactID int64  `json:"artifact_id"`
	Digest     string `json:"digest"` // "" when unknown
	RunID      int64  `json:"run_id"`
}

// Why something was left out of a checkpoint.
const (
	NoKey    = "key"  // anybody may read the artifacts, and there is no state-key
	TooLarge = "size" // it has more than 256 MiB
	NoGit    = "git"  // of a run with prompts, on a machine without git
	FromFork = "fork" // the event is a fork's, so that nobody can resume its run

	// It could not be packed:
	DiskFull   = "disk"
	NoObjects  = "objects" // the clone is partial, and origin does not give what it lacks
	TooSlow    = "time"
	NoMemory   = "memory"
	NotAllowed = "permissions"
	NotPacked  = "error" // for another reason
)

// Omission says what was not stored.
type Omission struct {
	What    string `json:"what"` // "transcripts" or "workspace"
	Existed bool   `json:"held"` // there was something
	Why     string `json:"why"`  // NoKey and so on
}

// Missing names what was not stored of what there was: a run that goes on from the
// checkpoint has to do without it.
func (m *Manifest) Missing() []string {
	var lacks []string
	for _, l := range m.Omissions {
		if l.Existed {
			lacks = append(lacks, l.What)
		}
	}
	return lacks
}

// causes says for people why something was left out, and what to do about it.
var causes = map[string]string{
	NoKey:     "anybody may read the artifacts of a public repository, and no state-key was set; a state-key has all of it stored, encrypted",
	TooLarge:  "it has more than 256 MiB; .gitignore keeps what is large and can be made again out of it",
	NotPacked: "it could not be packed on the machine that had it",
	NoGit:     "git is not installed where it ran; files are stored by git",
	FromFork:  "its event is a fork's",

	DiskFull:   "the disk of the machine that had it was full",
	NoObjects:  "the clone was partial, and origin did not give the objects that it lacked",
	TooSlow:    "packing took too long on the machine that had it",
	NoMemory:   "memory ran out on the machine that had it",
	NotAllowed: "files could not be read on the machine that had it",
}

// OmissionReasons says for people why what it Lacks was not stored, each cause once.
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

// Transcript is a conversation whose transcript is stored.
type Transcript struct {
	Session string `json:"session"` // a UUID in lower case
	// Backend is the agent CLI that it belongs to, one of protocol.Backends.
	Backend string `json:"backend"`
	// CLIID is the CLI's own id of it, as in state.Session.
	CLIID string `json:"cli_id,omitzero"`
	// Dir is the absolute directory, on the saving machine, that the conversation
	// was held in.
	Dir string `json:"dir"`
}

// Name is the name that the transcript has in the checkpoint.
func (t Transcript) Name() string { return transcripts + path.Join(t.Backend, t.Session+".jsonl") }

// File is one stored file.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hex
}

// encodeJSON returns the bytes of one of our own JSON files.
func encodeJSON(v any) ([]byte, error) {
	data, err := jsonv2.Marshal(v, jsontext.WithIndent(" "))
	return append(data, '\n'), err
}

// digest returns the digest of a manifest's exact bytes.
func digest(manifest []byte) string {
	sum := sha256.Sum256(manifest)
	return "sha256:" + hex.EncodeToString(sum[:])
}
