package runner

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Backend runs one invocation of one agent: a prompt sent to an agent CLI, or a script.
type Backend interface {
	// Run blocks until the invocation has ended and every process that it started is gone. When
	// ctx is done it ends the invocation as the StopCause says and returns soon after. Even with
	// an error, which is then a *Failure, it returns the known fields of the Answer. It may call
	// report from any goroutine until it returns.
	Run(ctx context.Context, o Order, report func(Progress)) (Answer, error)
}

// Conversation identifies a conversation of an agent CLI.
type Conversation struct {
	ID  string // state.Session.ID
	CLI string // state.Session.CLIID
	Dir string // absolute; where the conversation took place
}

// Abilities describes how an agent CLI differs from others. docs/agents.md has a table of all
// differences.
type Abilities struct {
	Backend  string // from protocol.Backends
	Title    string // for people
	Provider string // of the models, as in OpenTelemetry's gen_ai.provider.name; "" if unknown
	// ChoosesID is true if the caller chooses the id of a new conversation. Otherwise the CLI
	// reports an id of its choice.
	ChoosesID  bool
	ReportsUSD bool // the cost of an invocation; otherwise only tokens
}

// AgentCLI runs prompts with one agent CLI. It may run any number of invocations at once.
type AgentCLI interface {
	Backend
	Transcripts
	Abilities() Abilities
	// Needs returns the files and hosts that the CLI needs in a cage.
	Needs() Needs
}

// WithBackend returns a with Run replaced by the Run of b, which may be a backend that does
// something before and after it calls a.
func WithBackend(a AgentCLI, b Backend) AgentCLI { return withBackend{a, b} }

// withBackend is the result of WithBackend.
type withBackend struct {
	AgentCLI
	backend Backend
}

// Run implements Backend.
func (t withBackend) Run(ctx context.Context, o Order, report func(Progress)) (Answer, error) {
	return t.backend.Run(ctx, o, report)
}

// Needs lists the files and hosts that an agent CLI needs in a cage, besides its working
// directory. All paths are absolute; paths that don't exist are ignored.
type Needs struct {
	Read  []string // files and folders that it reads, for example its program and its credentials
	Write []string // folders and files that it writes
	Hosts []string // of its API, in the format of the input network
}

// Transcripts gives access to the conversations of one agent CLI that are stored on this
// machine.
type Transcripts interface {
	// Length returns the size in bytes of the transcript of a conversation, and false if there is
	// none.
	Length(Conversation) (int64, bool)
	// Usage returns the tokens in the transcript from a byte offset on, one element per model,
	// for invocations whose own report is lost. The second value is false if the transcript
	// doesn't record tokens.
	Usage(c Conversation, from int64) ([]state.Usage, bool)
	// Find returns the files that another machine needs to resume a conversation that took place
	// in a listed directory, the most likely first; it ignores c.Dir. The second value is false
	// if there is nothing to resume.
	Find(c Conversation, dirs []string) (TranscriptFile, bool)
	// Read calls each with the messages of the conversation whose lines begin in the bytes [from,
	// to) of its transcript, in order, until each returns an error, which Read returns; to < 0
	// means the end of the transcript. A use of a tool includes its result, if that is within
	// these bytes, and comes at the position of the use. Unreadable lines are skipped. The error
	// wraps fs.ErrNotExist if the transcript is missing.
	Read(c Conversation, from, to int64, each func(Message) error) error
	// Copy copies the first length bytes of a transcript, without a line that is cut, to the
	// place where the CLI looks for it when it resumes conversation id in dir; length < 0 copies
	// all. Offsets don't change in the copy. id is a new UUID, and cliID is the CLI's id for the
	// copy, "" if the caller chooses ids (Abilities.ChoosesID). The transcript is only read. The
	// error wraps ErrCantCopy if the CLI can't continue a copy, and fs.ErrNotExist if the
	// transcript is missing or shorter.
	Copy(c Conversation, length int64, id, dir string) (cliID string, err error)
	// Place copies a transcript to the path where the CLI looks for it when it resumes the
	// conversation in c.Dir. It replaces a file there.
	Place(c Conversation, from string) error
	// Clear removes the files of a conversation that the CLI keeps; if only is not nil, it does
	// so only if the transcript has that fingerprint. Missing files are not an error.
	Clear(c Conversation, only *Fingerprint) error
}

// TranscriptFile is a transcript on disk.
type TranscriptFile struct {
	Path string // of a regular file
	Size int64  // size in bytes; the file may grow, but these bytes never change
	Dir  string // absolute; where the conversation took place
}

// Fingerprint identifies one version of a file.
type Fingerprint struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"` // in hex
}

// Order is everything that a worker needs for one invocation. It shares no memory with the run.
type Order struct {
	Agent string
	State string        // resolved file name
	Kind  protocol.Kind // decides which backend runs it
	Note  string        // what people should know about its start; "" for nothing
	Dir   string        // absolute; the directory to run in
	Env   []string      // RAYMOND_* variables, added to the backend's base environment
	Mark  string        // all processes of the invocation have it in their environment, so that they can be found

	Prompt PromptOrder // when Kind is protocol.Prompt
	Script ScriptOrder // when Kind is protocol.Script
	// Checks, if not nil, makes this an order to verify an attempt.
	*Checks

	Cage    *cage.Cage    // of all processes; nil: none
	Timeout time.Duration // of each command if there are Checks, else of the invocation; 0: none
	Idle    time.Duration // 0: none

	DebugDir  string    // "" or an existing folder for command.json, stdout, stderr
	Verbosity Verbosity // how many lines of output to report
	// Hide replaces secrets. A text must pass through it before it is cut, because half a secret
	// can't be recognized. Nil leaves texts unchanged.
	Hide func(string) string
}

// PromptOrder is the part of an Order that only prompts have: the text, the conversation that
// gets it, and the permissions of the agent CLI.
type PromptOrder struct {
	Backend       string // the agent CLI, never ""
	Text          string // as sent
	Session       state.SessionMode
	SessionID     string // the id to use: chosen by the runner, or the one to resume
	From          string // Branch: the session to branch from
	CLIID         string // Resume, Branch: the CLI's own id of the session to resume or branch from; "" if the runner chose its id
	Cut           *int64 // Resume: cut the transcript to this length first; nil: leave it
	Model, Effort string // "" for the CLI's default
	Permissions   Permissions
	BudgetCap     state.USD // 0: none
	// Reached is the agent CLI's own count of the session that is resumed or branched from, as
	// far as the run knows it.
	Reached state.RunningTotal
	// IsChecked is true if commands verify the work, so that they must be able to run.
	IsChecked bool
	// OverloadWait is how long the run waits while the service fails; 0 means no wait, or the
	// default.
	OverloadWait time.Duration
	// ReportsTools requests a Progress for every use of a tool, at any Verbosity.
	ReportsTools bool
}

// Permissions list the actions that an agent CLI may do without asking.
type Permissions struct {
	PermissionMode  string // "" for the CLI's default
	SkipPermissions bool   // allow everything; PermissionMode is "" then
	AllowedTools    []string
	DisallowedTools []string
}

// ScriptOrder is the part of an Order that only scripts have.
type ScriptOrder struct {
	Path        string // absolute path of the private copy
	PayloadFile string // absolute path of the file with the payload; Files contains it
	// Files has the contents, by absolute path, of files that exist while the script runs.
	Files map[string]string
	// IsTrusted is true if the script is the workflow's own code and may have its secrets. It
	// then starts in an empty folder, Order.Dir, and sees no file that agents can write.
	IsTrusted bool
	// Work is the agents' work that the script gets; nil for none.
	Work *Work
}

// Work is the work of agents, for a script that must not touch the files that they wrote.
type Work struct {
	Dir               string            // absolute; where the agent works
	OtherDirs         map[string]string // directories of agents that work elsewhere, by agent
	Since             time.Time         // when the script's state began
	IncludesWorkflows bool              // include changes to files that forges run, for example .github
}

// Verbosity decides how many lines of agents and scripts are reported as events.
type Verbosity int

// The levels of verbosity.
const (
	// VerbosityNone reports no line as an event. Lines of scripts are shown, within the bounds of
	// VerbosityBounded.
	VerbosityNone Verbosity = iota
	// VerbosityBounded reports the first and the last lines of each invocation, at most 500 lines
	// and 256 KiB; the last lines follow when the invocation ends.
	VerbosityBounded
	VerbosityFull
)

// ScopeVar is the environment variable with the folder that contains private copies of the
// states and of other files of the workflow.
const ScopeVar = "RAYMOND_SCOPE"

// TraceparentVar is the environment variable with the span of the attempt, in the format of W3C
// Trace Context. Only traced runs set it.
const TraceparentVar = "TRACEPARENT"

// Progress is a report of a backend about a running invocation. At VerbosityNone, only scripts
// need to report anything.
type Progress struct {
	Text string // a line of output, or the tool that the agent uses
	// Activity describes the agent's new activity in a few words; "" if it has not changed. A
	// Progress with Activity alone is not a line of output, and is sent at any Verbosity.
	Activity string
	// Metered, if not nil, is the number of tokens that the invocation has used so far, as
	// counted. This Progress has no other field, and is sent at any Verbosity.
	Metered *MeteredUsage
	// CLIID, if not "", is the CLI's own id of the conversation of the invocation, which is saved
	// at once. This Progress has no other field, and is sent at any Verbosity.
	CLIID string
	// Note is a line for the log that concerns no agent: something that the backend does before
	// it can run anything. It is sent at any Verbosity.
	Note string
	// Tool, if not nil, is a use of a tool that has begun. This Progress has no other field, and
	// is sent only if PromptOrder.ReportsTools is set.
	Tool *ToolUse
	// Refused, if not "", is the path of a file to which access was denied in a cage, according
	// to the output of the program. This Progress has no other field, and is sent at any
	// Verbosity.
	Refused string
}

// ToolUse is a use of a tool by an agent. Both texts are one short line without secrets.
type ToolUse struct {
	Name  string // the agent CLI's name for it
	Input string // the most telling part of its input; "" if it is missing
}

// MeteredUsage is the number of tokens counted so far, one element per model.
type MeteredUsage []state.Usage

// Answer is the result of an invocation.
type Answer struct {
	Text          string // the final message, or the script's stdout
	SessionID     string // as reported; "" if it was not
	Model         string // the model that answered, as reported
	Cost          state.Cost
	Turns         int
	Refusals      []Refusal          // uses of tools that were refused, in order
	Notes         []string           // for the log: unusual events that are not failures
	Script        state.ScriptOutput // scripts only
	state.Process                    // the runner sets its End
}

// Refusal is a use of a tool that was refused, with the reason and a way to allow it.
type Refusal = state.Refusal

// Failure is the reason why an invocation gave no usable answer.
type Failure = state.Failure

// Class decides how a run reacts to a Failure; package state takes the decisions.
type Class = state.Class

// The classes of failure, as package state documents them.
const (
	Transient  = state.Transient
	Service    = state.Service
	TimedOut   = state.TimedOut
	Fatal      = state.Fatal
	Machine    = state.Machine
	Denied     = state.Denied
	UsageLimit = state.UsageLimit
	OverBudget = state.BudgetSpent
	Stopped    = state.Stopped
)

// StopCause is the cause (context.Cause) with which the runner ends invocations. An invocation
// gets SIGINT, then SIGTERM after Term, then SIGKILL after Kill more. At last, every process
// with its mark is killed.
type StopCause struct {
	Reason string // "cancelled", "deadline"
	Term   time.Duration
	Kill   time.Duration
}

// Error implements error.
func (s *StopCause) Error() string { return s.Reason }

// Patience returns how long an invocation has before SIGTERM, and from then on before SIGKILL.
// Package proc calls it.
func (s *StopCause) Patience() (term, kill time.Duration) { return s.Term, s.Kill }
