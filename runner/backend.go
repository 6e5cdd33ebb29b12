package runner

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Backend runs one invocation of one agent: a prompt given to an agent CLI, or
// a script.
type Backend interface {
	// Run blocks until the invocation has ended and everything it started is
	// gone. When ctx is done it ends the invocation as Stopping says and returns
	// soon after. It fills in what it knows of the Answer even when it returns
	// an error, which is then a *Failure. It may call tell from any goroutine
	// until it returns.
	Run(ctx context.Context, o Order, tell func(Progress)) (Answer, error)
}

// Conversation names a conversation of an agent CLI.
type Conversation struct {
	ID  string // state.Session.ID
	CLI string // state.Session.CLIID
	Dir string // absolute; where it was held
}

// Abilities is how an agent CLI differs from the others. docs/agents.md has a table of all
// that they can.
type Abilities struct {
	Backend  string // its name, one of protocol.Backends
	Title    string // for people
	Provider string // of its models, as OpenTelemetry's gen_ai.provider.name has it; "" when nobody knows
	// ChoosesID says that a new conversation gets the id that we choose. Otherwise the CLI
	// tells its own.
	ChoosesID  bool
	ReportsUSD bool // what an invocation cost; otherwise it tells tokens only
}

// AgentCLI runs prompts with one agent CLI, any number of invocations at once.
type AgentCLI interface {
	Backend
	Transcripts
	Abilities() Abilities
	// Needs says what the CLI needs in a cage.
	Needs() Needs
}

// WithBackend returns an agent CLI whose invocations are run by b, which may be a backend that
// does something before and after those of a. All else of it is that of a.
func WithBackend(a AgentCLI, b Backend) AgentCLI { return through{a, b} }

// through is what Through returns.
type through struct {
	AgentCLI
	backend Backend
}

// Run implements Backend.
func (t through) Run(ctx context.Context, o Order, tell func(Progress)) (Answer, error) {
	return t.backend.Run(ctx, o, tell)
}

// Needs is what an agent CLI needs in a cage besides the directory that it works in.
// All paths are absolute; those that are not there are passed over.
type Needs struct {
	Read  []string // files and folders that it reads, as its program and what it shows who it is with
	Write []string // folders and files that it writes
	Hosts []string // of its API, as the input network has them
}

// Transcripts are the conversations of one agent CLI, as it keeps them on this machine.
type Transcripts interface {
	// Length returns the size in bytes of the transcript of a conversation, and false when
	// there is none.
	Length(Conversation) (int64, bool)
	// Usage returns the tokens that the transcript shows from the given byte on, one element
	// a model, for invocations whose own report is lost. The second value is false when the
	// transcript cannot tell.
	Usage(c Conversation, from int64) ([]state.Usage, bool)
	// Find returns what another machine needs to resume a conversation that was held in one
	// of the directories, the most likely first; c.Dir is not looked at. The second value is
	// false when there is nothing that could be resumed.
	Find(c Conversation, dirs []string) (TranscriptFile, bool)
	// Read calls each with the messages of the conversation whose lines begin in the bytes from
	// from to before to of its transcript, in order, until each returns an error, which is
	// returned; to < 0 is the end of the transcript. A use of a tool comes with what it brought
	// within these bytes, and at the place where it was asked for. What can't be read is passed
	// over. The error has fs.ErrNotExist in it when there is no transcript.
	Read(c Conversation, from, to int64, each func(Message) error) error
	// Copy puts a copy of the first length bytes of a transcript, without a line that they cut,
	// where the CLI looks for it when it resumes the conversation id in dir; length < 0 copies
	// all. Offsets are the same in the copy. id is a new one, a UUID, and cliID what the CLI
	// calls the copy, "" when ids are chosen for it (Abilities.ChoosesID).
	// The transcript itself is only read. The error has ErrCantCopy in it when the CLI can't
	// continue a copy, and fs.ErrNotExist when there is no transcript, or a shorter one.
	Copy(c Conversation, length int64, id, dir string) (cliID string, err error)
	// Place puts a transcript where the CLI looks for the conversation when it resumes it in
	// c.Dir. A file that is there is replaced.
	Place(c Conversation, from string) error
	// Clear removes what the CLI keeps of a conversation; with a mark, only if its transcript
	// has that mark. What is not there is no error.
	Clear(c Conversation, only *Fingerprint) error
}

// TranscriptFile is a transcript on disk.
type TranscriptFile struct {
	Path string // of a regular file
	Size int64  // bytes it has now; it may grow, and is never changed within them
	Dir  string // absolute; the conversation was held there
}

// Fingerprint tells a file from another one of its name, and from what it becomes later.
type Fingerprint struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"` // in hex
}

// Order is everything a worker needs for one invocation. It shares no memory
// with the run.
type Order struct {
	Agent string
	State string        // resolved file name
	Kind  protocol.Kind // which backend
	Note  string        // what people should know of how it starts; "" for nothing
	Dir   string        // absolute; the directory to run in
	Env   []string      // RAYMOND_* variables, added to the backend's base environment
	Mark  string        // by which everything that is started can be found again

	Prompt PromptOrder // when Kind is protocol.Prompt
	Script ScriptOrder // when Kind is protocol.Script
	// Checks, when not nil, asks for the verification of an attempt instead.
	*Checks

	Cage    *cage.Cage    // what is started runs in it; nil: none
	Timeout time.Duration // of a command when there are Checks; 0: none
	Idle    time.Duration // 0: none

	DebugDir  string    // "" or an existing folder for command.json, stdout, stderr
	Verbosity Verbosity // whether to tell the lines of output
	// Hide replaces secrets. A text must pass through it before it is cut, because
	// half a secret can't be recognized. Nil leaves texts as they are.
	Hide func(string) string
}

// PromptOrder is what only prompts have: the text, the conversation in which it
// is said, and what the agent CLI may do.
type PromptOrder struct {
	Backend       string // the agent CLI, never ""
	Text          string // as sent
	Session       state.SessionMode
	SessionID     string // the id to use: chosen by us, or the one to resume
	From          string // Branch: the session to branch from
	CLIID         string // Resume, Branch: the CLI's own id of the session that is resumed or branched from; "" when it is ours
	Cut           *int64 // Resume: cut the transcript back to this length first; nil: leave it
	Model, Effort string // "" for the CLI's own
	Permissions   Permissions
	BudgetCap     state.USD // 0: none
	// Reached is how far the agent CLI's own count of the session that is resumed or
	// branched from has come, as far as the run knows.
	Reached state.RunningTotal
	// IsChecked says that commands decide about the work, so that they must be able to run.
	IsChecked bool
	// OverloadWait is how long the run waits while the service fails; 0 when it does not, or as long as usual.
	OverloadWait time.Duration
	// ReportsTools asks for every use of a tool (Progress.Tool), whatever Order.Telling says.
	ReportsTools bool
}

// Permissions say what an agent CLI may do unasked.
type Permissions struct {
	PermissionMode  string // "" for the CLI's own
	SkipPermissions bool   // everything; PermissionMode is "" then
	AllowedTools    []string
	DisallowedTools []string
}

// ScriptOrder is what only scripts have.
type ScriptOrder struct {
	Path        string // absolute path of the private copy
	PayloadFile string // absolute path of the file with the payload, one of Files
	// Files are the contents, by absolute path, of the files that exist while the script runs.
	Files map[string]string
	// IsTrusted says that the script is the workflow's own word and may have its secrets. It
	// starts in a folder of its own then, which Order.Dir is, and sees nothing that agents can write.
	IsTrusted bool
	// Work is what the script gets of the agents' work; nil: nothing.
	Work *Work
}

// Work is what agents have done, for a script that must not touch what they wrote.
type Work struct {
	Dir               string            // absolute; where the agent works
	OtherDirs         map[string]string // where the other agents of the run work, if not there, by their ids
	Since             time.Time         // when the script's state began
	IncludesWorkflows bool              // changes of what forges run, such as .github, are part of it
}

// Verbosity says how much is told of what agents print and of what they do.
type Verbosity int

// The amounts that are told.
const (
	// VerbosityNone makes no line an event. Those of scripts are shown, within the
	// bounds of TellBounded.
	VerbosityNone Verbosity = iota
	// VerbosityBounded tells the first and the last lines of each invocation, 500 at most
	// and 256 KiB; the last ones when it ends.
	VerbosityBounded
	VerbosityFull
)

// ScopeVar is the environment variable that has the folder of the private copies of the
// states, and of what lies beside them.
const ScopeVar = "RAYMOND_SCOPE"

// TraceparentVar is the environment variable that names the span which what is started
// belongs to, as OpenTelemetry's programs pass it on. Only traced runs set it.
const TraceparentVar = "TRACEPARENT"

// Progress is what a backend tells while an invocation runs. With TellNothing only
// scripts need tell anything.
type Progress struct {
	Text string // what the agent said or which tool it uses, one line
	// Activity is what the agent does from now on, in a few words; "" when that has not
	// changed. A Progress with Doing alone is no line, and is sent whatever Order.Telling says.
	Activity string
	// Metered, when not nil, is what was seen of the invocation's tokens so far. Such
	// a Progress has nothing else, and is sent whatever Order.Telling says.
	Metered *MeteredUsage
	// CLIID, when not "", is the CLI's own id of the conversation of the invocation, which
	// is saved at once. Such a Progress has nothing else, and is sent whatever Order.Telling
	// says.
	CLIID string
	// Note is a line of its own for the log, about no agent: what the backend does
	// before it can run anything. It is told whatever Order.Telling says.
	Note string
	// Tool, when not nil, is a use of a tool that has begun. Such a Progress has nothing else,
	// and is sent where PromptOrder.TellsTools is set.
	Tool *ToolUse
	// Refused, when not "", is the path of a file that what runs in a cage was refused,
	// as its output says. Such a Progress has nothing else, and is sent whatever
	// Order.Telling says.
	Refused string
}

// ToolUse is a use of a tool by an agent. Both texts are on one short line, without secrets.
type ToolUse struct {
	Name  string // as the agent CLI calls it
	Input string // what says most about its input; "" when there is none
}

// MeteredUsage is what was seen of tokens, one element a model.
type MeteredUsage []state.Usage

// Answer is what an invocation brought.
type Answer struct {
	Text          string // the final message, or the script's stdout
	SessionID     string // as reported; "" when nothing was
	Model         string // the model that answered, as reported
	Cost          state.Cost
	Turns         int
	Refusals      []Refusal          // uses of tools that were refused, in order
	Notes         []string           // for the log: what was odd but no failure
	Script        state.ScriptOutput // what only scripts bring
	state.Process                    // its End is for the runner to say
}

// Refusal is a refused use of a tool, why, and what would let it pass.
type Refusal = state.Refusal

// Failure is why an invocation brought no usable answer.
type Failure = state.Failure

// Class says what to do about a Failure; the decisions are taken in package state.
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

// StopCause is the cause (context.Cause) with which the runner ends invocations.
// An invocation is ended with SIGINT, then SIGTERM after Term, then SIGKILL
// after Kill more, then by a sweep of everything that carries its mark.
type StopCause struct {
	Reason string // "cancelled", "deadline"
	Term   time.Duration
	Kill   time.Duration
}

// Error implements error.
func (s *StopCause) Error() string { return s.Reason }

// Patience returns how long an invocation has before SIGTERM, and from there
// before SIGKILL. The package that ends processes asks the cause for it.
func (s *StopCause) Patience() (term, kill time.Duration) { return s.Term, s.Kill }
