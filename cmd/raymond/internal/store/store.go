// Package store keeps runs between jobs. It makes no decisions: package slots decides whether a run
// is resumed, and package action what happens then.
//
// A Store finds the run of a key (Look), and claims the key for a job (Claim). The Lease of a
// claimed key brings a run to this machine (Restore), stores it while it is driven and at its end,
// and releases the key. New chooses the store that the inputs name. Ledger and Reports store
// spending and reports, with every store.
package store

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// Store keeps the runs of a repository between jobs. Its methods may be called by one goroutine at a
// time.
type Store interface {
	// Look finds the newest run of a key, or the run that the query names by its id. It restores
	// nothing. The result is never nil, even with an error; the caller removes it.
	Look(ctx context.Context, q Query) (*Lookup, error)
	// Parts lists what jobs of a matrix have stored for parts of the run that was found. Part.Read
	// downloads it.
	Parts(ctx context.Context, l *Lookup, parts []state.Part) ([]*Part, error)
	// View returns a lease without a claim: it restores a run to show it, and stores nothing.
	View() Lease
	// Claim starts to claim a key for this job and returns at once.
	Claim(k Key) (Lease, error)
	// Reopen returns the lease of the main phase to the post phase of the same step.
	Reopen(n Note) (Lease, error)
	// Limitations lists, for users, what a later job could not restore, and why. hasPrompts reports
	// whether the run has executed prompts or may do so.
	Limitations(hasPrompts bool) []string
}

// Lease is a key that this job has claimed, with the run that the job drives under it. Except for
// Wait, one goroutine at a time may call its methods.
type Lease interface {
	runner.Checkpoints
	// Expedite makes Offer store the run at once as long as u needs a checkpoint.
	Expedite(u Urgency)
	// Wait waits until it is known whether this job has the key, but at most until d after Claim. It
	// returns a *slots.Conflict if another job has the key.
	Wait(ctx context.Context, d time.Duration) error
	// Lost returns a channel that receives, at most once, the reason to end the run: another job has
	// the key.
	Lost() <-chan string
	// Restore brings the run that was found to this machine, and opens its state file or the state
	// file of a new run. It returns the run that was found with the directories of this machine, or
	// nil if no run was found. The caller closes the file.
	Restore(ctx context.Context, l *Lookup, to Target) (*journal.File, *state.Run, error)
	// StoreEnd stores a run that has stopped. isLast is false if the post phase will store the rest.
	// If ctx has ended, StoreEnd only stops saving in the background. The receipt is valid even with
	// an error.
	StoreEnd(ctx context.Context, run *state.Run, isLast bool) (Receipt, error)
	// Receipt describes what is stored of the run by now.
	Receipt() Receipt
	// RemoveConversations removes the conversations of this step that are stored, or never will be,
	// from the directories of the agent CLIs. It returns the sessions of those that it could not
	// remove.
	RemoveConversations(own []Conversation) (failed []string)
	// Release gives up the key.
	Release(ctx context.Context) error
}

// Urgency tells a Lease that something waits for a checkpoint of the run's last step.
type Urgency interface {
	NeedsCheckpoint() bool
	// ExpectNoCheckpoints is called if no more checkpoints are stored while the run is driven.
	ExpectNoCheckpoints()
}

// Key is the name under which a run is stored.
type Key struct {
	Name string
	Part *state.Part // the part of a matrix; nil for the run itself
}

// Query selects a run. Mode is one of the modes of slots.Query: auto, require, never or a run's id.
type Query struct{ Key, Mode string }

// Target says where Restore brings a run, and how much of it.
type Target struct {
	ID         string     // the id of a new run; "" to resume the run that was found
	Contents   Contents   // of the run that was found
	Needs      *state.Run // the run whose conversations are needed; nil for the run that was found
	Start      RunStart   // how the run that the job drives began
	About      job.Subject
	Untrusted  bool                                           // the run works on an untrusted checkout
	HasPrompts bool                                           // the run has executed prompts or may do so
	Scope, Dir string                                         // the workflow and the working directory on this machine
	Agents     map[string]runner.AgentCLI                     // get the conversations
	AgentsIn   func(cliDir string) map[string]runner.AgentCLI // the agent CLIs with another directory; "" for the user's
	Freeze     func() error                                   // is called before files of agents are restored into the workspace
}

// Contents is how much of a run Restore brings to this machine.
type Contents int

// The values of Contents.
const (
	Everything           Contents = iota
	WithoutConversations          // everything but the conversations
	Conversations                 // conversations only; existing ones that begin like the stored ones stay
)

// RunStart describes the beginning of a run. Each checkpoint of the run contains it.
type RunStart struct {
	KeyOrigin *checkpoint.KeyOrigin `json:"key_of,omitempty"`
	Checkout  string                `json:"checkout,omitempty"` // the commit that the job checked out; "" if unknown
	Input     string                `json:"input,omitempty"`    // SHA-256 of the input, in hex; "" if unknown
	// Supersedes is the run that this run has replaced; zero for none.
	Supersedes checkpoint.SupersededRun `json:"supersedes,omitzero"`
}

// Note is what the post phase knows of the lease of the main phase.
type Note struct {
	Key        Key
	WorkflowID string // "" if the main phase had no run yet
	Claim      string // the id of the claim; "" for none
	IsLost     bool   // another job has the key
	IsRestored bool   // Restore was successful
	About      job.Subject
	Untrusted  bool
	Agents     map[string]runner.AgentCLI // have the conversations
}

// Place is where a run is stored.
type Place int

// The values of Place.
const (
	Nowhere   Place = iota
	Elsewhere       // later jobs on any machine can resume it
	OnMachine       // later jobs on this machine can resume it
)

// Receipt describes what is stored of a run.
type Receipt struct {
	Place      Place
	Name       string      // of the artifact with the last checkpoint; "" for none
	Checkpoint slots.Named // the last checkpoint; zero for none
	IsWhole    bool        // the end of the run is stored
	// Omissions are the contents that the last checkpoint lacks, or, before the first one, that each
	// checkpoint will lack.
	Omissions []checkpoint.Omission
	Event     *state.Checkpoint // the event of StoreEnd; nil if it has stored nothing elsewhere
}

// Config connects a store to its job. Its values don't change.
type Config struct {
	Inputs   job.Settings
	Event    job.Event
	Keys     *checkpoint.Keys // nil: checkpoints are neither encrypted nor signed
	Deadline time.Duration    // of the job; 0 for none
	Interval time.Duration    // between the starts of two checkpoints
	Version  string           // of the program
	Ended    bool             // the job drives no run any more

	StateDir string // has the state files and the directories of runs
	Dir      string // of the step, for temporary files
	Machine  checkpoint.MachineDirs

	Services      Services
	Worktree      *Worktree
	Integrity     IntegrityLog
	Conversations *ConversationLog
	Log           Log
	IsPublic      func() bool // anyone can read the artifacts of the repository; may be called often
	Process       Process

	// Claimed records the id of a claim before it is stored, and Lost that another job has the key.
	// Lost may be called by any goroutine.
	Claimed func(id string) error
	Lost    func()
}

// Process identifies the processes that claim keys.
type Process struct {
	Self  func() slots.Process
	Alive func(slots.Process) (alive, known bool)
}

// Log gets what a store reports to users.
type Log interface {
	Warn(text string)                // adds a warning to the job
	Notice(text string)              // adds a notice to the job
	Note(sentences ...string)        // adds sentences to the end of the page
	Say(text string)                 // reports how a run continues
	ReportLosses(sentences []string) // reports contents of a run that are not stored
	Mask() *secrets.Set              // the values that must not be stored where anyone can read them
}

// IntegrityLog records the contents of files, so that the post phase can check them. Methods may be
// called by several goroutines, but for different files.
type IntegrityLog interface {
	journal.IntegrityLog
	// Place renames a file, which may be missing, and records it under its new name.
	Place(from, to string) error
	// Note saves a value in a file as JSON.
	Note(file string, value any) error
	// Content returns the size and the SHA-256 that a file has according to the log; ok is false if
	// the log does not contain it.
	Content(file string) (size int64, sum [32]byte, ok bool)
}

// New returns the store that the input store names.
func New(c Config) Store {
	switch {
	case c.Inputs.IsLocal():
		return &local{c}
	case c.Services.Service == nil:
		return &none{artifactStore{c}}
	}
	return &artifactStore{c}
}
