package runner

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Backend runs invocations. An invocation sends a prompt to an agent CLI, or runs a script.
type Backend interface {
	// Run blocks until the invocation has ended and every process that it started is gone. When
	// ctx is done, Run ends the invocation as the StopCause says and returns soon after. A returned
	// error is a *Failure; the Answer then contains the fields that are known. Run may call report
	// from any goroutine until it returns.
	Run(ctx context.Context, o Order, report func(Progress)) (Answer, error)
}

// Conversation identifies a conversation of an agent CLI.
type Conversation struct {
	ID  string // state.Session.ID
	CLI string // state.Session.CLIID
	Dir string // absolute path of the directory in which the conversation took place
}

// Abilities describes how an agent CLI differs from others. docs/agents.md has a table of all
// differences.
type Abilities struct {
	Backend  string // one of protocol.Backends
	Title    string // the name that users see
	Provider string // provider of the models, as in OpenTelemetry's gen_ai.provider.name; "" if unknown
	// ChoosesID is true if the caller chooses the id of a new conversation. Otherwise the CLI
	// reports an id of its choice.
	ChoosesID  bool
	ReportsUSD bool // true if the CLI reports the cost of an invocation, not only tokens
}

// AgentCLI runs prompts with one agent CLI. It may run any number of invocations at the same time.
type AgentCLI interface {
	Backend
	Transcripts
	Abilities() Abilities
	// Needs returns the files and hosts that the CLI needs in a cage.
	Needs() Needs
}

// WithBackend returns an AgentCLI that runs invocations with b.Run, and otherwise behaves like a.
// b.Run may call a.Run, and do something before and after that.
func WithBackend(a AgentCLI, b Backend) AgentCLI { return withBackend{a, b} }

// withBackend is an AgentCLI whose Run is replaced by the Run of backend.
type withBackend struct {
	AgentCLI
	backend Backend
}

// Run implements Backend.
func (t withBackend) Run(ctx context.Context, o Order, report func(Progress)) (Answer, error) {
	return t.backend.Run(ctx, o, report)
}

// Needs lists the files and hosts that an agent CLI needs in a cage, in addition to its working
// directory. All paths are absolute. Paths that don't exist are ignored.
type Needs struct {
	Read  []string // files and folders that it reads, for example its program and its credentials
	Write []string // folders and files that it writes
	Hosts []string // hosts of the CLI's API, in the format of the input network
}

// Transcripts gives access to the conversations of one agent CLI that are saved on this machine.
type Transcripts interface {
	// Length returns the size in bytes of a conversation's transcript. The boolean is false if
	// there is no transcript.
	Length(Conversation) (int64, bool)
	// Usage returns the tokens in a transcript from a byte offset on, with one element per model.
	// It is called for invocations whose own report is lost. The boolean is false if the
	// transcript doesn't record tokens.
	Usage(c Conversation, from int64) ([]state.Usage, bool)
	// Find returns the transcript that another machine needs to resume a conversation. The
	// conversation took place in one of dirs, the most likely of which is the first; c.Dir is
	// ignored. The boolean is false if there is nothing to resume.
	Find(c Conversation, dirs []string) (TranscriptFile, bool)
	// Read calls the function each for the messages of a conversation, in order. It reads the lines
	// of the transcript that begin at the byte offset from or later, and before the offset to. If to
	// is negative, Read continues to the end. If each returns an error, Read returns that error
	// immediately. A tool call comes with its result, if the result is within these bytes. Unreadable
	// lines are skipped. The error wraps fs.ErrNotExist if the transcript is missing.
	Read(c Conversation, from, to int64, each func(Message) error) error
	// Copy copies the first length bytes of a transcript to the file that the CLI reads when it
	// resumes conversation id in dir. A last line that is incomplete is left out. If length is
	// negative, Copy copies everything. Offsets in the copy are the same as in the transcript,
	// which doesn't change. id is a new UUID. cliID is the CLI's own id for the copy, or "" if the
	// caller chooses ids (Abilities.ChoosesID). The error wraps ErrCantCopy if the CLI can't
	// continue a copy, and fs.ErrNotExist if the transcript is missing or shorter than length.
	Copy(c Conversation, length int64, id, dir string) (cliID string, err error)
	// Place copies a transcript to the file that the CLI reads when it resumes the conversation in
	// c.Dir. from is the path of the transcript. Place replaces an existing file.
	Place(c Conversation, from string) error
	// Clear removes the files that the CLI has saved for a conversation. If only is not nil, it
	// removes them only if the transcript has that fingerprint. Missing files are not an error.
	Clear(c Conversation, only *Fingerprint) error
}

// TranscriptFile is a transcript on disk.
type TranscriptFile struct {
	Path string // path of a regular file
	Size int64  // in bytes; the file may grow, but these bytes never change
	Dir  string // absolute path of the directory in which the conversation took place
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
	State string        // file name of the state
	Kind  protocol.Kind // decides which backend runs the invocation
	Note  string        // for users, about the start of the invocation; may be ""
	Dir   string        // absolute path of the directory to run in
	Env   []string      // RAYMOND_* variables, added to the backend's base environment
	// Mark is in the environment of all processes of the invocation, so that they can be found.
	Mark string

	Prompt PromptOrder // set if Kind is protocol.Prompt
	Script ScriptOrder // set if Kind is protocol.Script
	// Checks is set if the order is to verify an attempt instead of running an agent or a script.
	*Checks

	Cage *cage.Cage // confines all processes; nil means no cage
	// Timeout limits each command if Checks is set, and otherwise the invocation. Idle limits the
	// time without output. Zero means no limit.
	Timeout time.Duration
	Idle    time.Duration

	DebugDir  string    // an existing folder for command.json, stdout and stderr; may be ""
	Verbosity Verbosity // how many lines of output to report
	// Hide replaces secrets in a text. A text must pass through Hide before it is cut, because half
	// a secret can't be recognized. If Hide is nil, texts stay unchanged.
	Hide func(string) string
}

// PromptOrder contains the fields of an Order that only prompts have: the text, the conversation
// that gets it, and the permissions of the agent CLI.
type PromptOrder struct {
	Backend string // the agent CLI, never ""
	Text    string // the text that is sent
	Session state.SessionMode
	// SessionID is the id to use. The runner has chosen it, or it is the session to resume.
	SessionID string
	// From is the session to branch from, if Session is state.Branch.
	From string
	// CLIID is the CLI's own id of the session to resume or to branch from. It is empty if the
	// runner chose that session's id.
	CLIID string
	// Cut is the length to which the transcript is cut before the session is resumed. If it is
	// nil, the transcript stays as it is.
	Cut           *int64
	Model, Effort string // "" means the CLI's default
	Permissions   Permissions
	BudgetCap     state.USD // the largest cost of the invocation; 0 means no limit
	// Reached is the agent CLI's own running total for the session that is resumed or branched
	// from, if known.
	Reached state.RunningTotal
	// IsChecked is true if commands verify the work. The invocation starts only if this machine
	// can run those commands.
	IsChecked bool
	// OverloadWait is how long the run waits while the service fails. It is zero if the run's
	// option is zero or not set.
	OverloadWait time.Duration
	// ReportsTools requests a Progress for every tool call, at any Verbosity.
	ReportsTools bool
}

// Permissions list the actions that an agent CLI may do without asking.
type Permissions struct {
	PermissionMode  string // "" means the CLI's default
	SkipPermissions bool   // allow every action; PermissionMode is "" then
	AllowedTools    []string
	DisallowedTools []string
}

// ScriptOrder contains the fields of an Order that only scripts have.
type ScriptOrder struct {
	Path        string // absolute path of the private copy of the script
	PayloadFile string // absolute path of the file with the payload; Files contains it
	// Files maps the absolute paths of files that exist while the script runs to their contents.
	Files map[string]string
	// IsTrusted is true if the script is the workflow's own code and may have its secrets. It
	// then starts in an empty folder, Order.Dir, and sees no file that agents can write.
	IsTrusted bool
	// Work is the agents' work that the script gets. If it is nil, the script gets none.
	Work *Work
}

// Work describes the agents' work for a script that must not touch the files that they wrote.
type Work struct {
	Dir               string            // absolute path of the directory in which the agent works
	OtherDirs         map[string]string // directories of agents that work elsewhere, by agent
	Since             time.Time         // when the script's state began
	IncludesWorkflows bool              // include changes to files that the forge runs, for example in .github
}

// Verbosity decides how many lines of the output of agents and scripts are reported as events.
type Verbosity int

// The levels of verbosity.
const (
	// VerbosityNone reports no line as an event. Users see lines of scripts nevertheless, within
	// the limits of VerbosityBounded.
	VerbosityNone Verbosity = iota
	// VerbosityBounded reports the first and the last lines of each invocation, at most 500 lines
	// and 256 KiB. The last lines are reported when the invocation ends.
	VerbosityBounded
	// VerbosityFull reports every line.
	VerbosityFull
)

// ScopeVar is the environment variable that contains the path of a folder with private copies of
// the workflow's states and other files.
const ScopeVar = "RAYMOND_SCOPE"

// TraceparentVar is the environment variable that contains the attempt's span, in the format of
// W3C Trace Context. Only traced runs set it.
const TraceparentVar = "TRACEPARENT"

// Progress is a backend's report about a running invocation. At VerbosityNone, only scripts need
// to report anything.
type Progress struct {
	Text string // a line of output, or the tool that the agent uses
	// Activity describes in a few words what the agent does now. It is empty if that has not
	// changed. A Progress with Activity alone is not a line of output, and is sent at any
	// Verbosity.
	Activity string
	// Metered, if not nil, is the number of tokens that the Meter has counted for the invocation
	// so far. This Progress has no other field, and is sent at any Verbosity.
	Metered *MeteredUsage
	// CLIID, if not empty, is the CLI's own id of the invocation's conversation. It is saved
	// immediately. This Progress has no other field, and is sent at any Verbosity.
	CLIID string
	// Note is a line for the log that concerns no agent, for example about something that the
	// backend does before it can run anything. It is sent at any Verbosity.
	Note string
	// Tool, if not nil, is a tool call that has begun. This Progress has no other field, and is
	// sent only if PromptOrder.ReportsTools is set.
	Tool *ToolUse
	// Refused, if not empty, is the path of a file to which access was denied in a cage, according
	// to the program's output. This Progress has no other field, and is sent at any Verbosity.
	Refused string
}

// ToolUse is a tool call by an agent. Both texts are one short line without secrets.
type ToolUse struct {
	Name  string // the agent CLI's name for the tool
	Input string // the most informative piece of the tool's input; may be ""
}

// MeteredUsage contains the tokens counted so far, with one element per model.
type MeteredUsage []state.Usage

// Answer is the result of an invocation.
type Answer struct {
	Text          string // the final message, or the script's stdout
	SessionID     string // as the agent CLI reported it; "" if it didn't
	Model         string // the model that answered, as the agent CLI reported it
	Cost          state.Cost
	Turns         int
	Refusals      []Refusal          // tool calls that were denied, in order
	Notes         []string           // unusual events that are not failures, for the log
	Script        state.ScriptOutput // set for scripts only
	state.Process                    // its field End is set by the runner
}

// Refusal is a tool call that was denied, with the reason and a way to allow it.
type Refusal = state.Refusal

// Failure is the reason why an invocation gave no usable answer.
type Failure = state.Failure

// Class decides how a run reacts to a Failure. Package state makes these decisions.
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

// StopCause is the cause (see context.Cause) with which the runner cancels the context of
// invocations. An invocation then gets SIGINT, after Term SIGTERM, and after another Kill SIGKILL.
// Finally, every process with the invocation's mark is killed.
type StopCause struct {
	Reason string // for example "cancelled" or "deadline"
	Term   time.Duration
	Kill   time.Duration
}

// Error implements error.
func (s *StopCause) Error() string { return s.Reason }

// Patience returns the time between SIGINT and SIGTERM, and the time between SIGTERM and SIGKILL.
// Package proc calls it.
func (s *StopCause) Patience() (term, kill time.Duration) { return s.Term, s.Kill }

// Verifier decides whether an attempt of a state with done_when was successful.
type Verifier interface {
	// Ready returns why this machine can't run commands, or nil if it can.
	Ready() error
	// Verify runs every command of an order in sequence, even if one of them fails. It returns
	// when every process that the commands started is gone. When ctx is done, it stops them and
	// records that in the Verification. It calls report before each command, from the calling
	// goroutine.
	Verify(ctx context.Context, o Order, report func(Progress)) state.Verification
	// SaveProtected returns a digest of each protected file in the directory of an order. It also
	// copies the files, up to a size limit. Verify restores changed files from the copies.
	SaveProtected(o Order) map[string]string
}

// Checks contains the fields of an Order that only the verification of an attempt has.
type Checks struct {
	Commands  []string
	Protect   []string
	Protected map[string]string // digests of the protected files when the state began
	Copies    string            // the folder that SaveProtected fills
	LogFile   string            // absolute path; an existing log is renamed
	Attempt   int
	AgentCode int    // exit code of the agent CLI; it is logged but doesn't affect the verdict
	Refused   string // why the agent has no transition; "" if it has one; only logged
}
