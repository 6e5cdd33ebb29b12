package state

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// Schema is the version of the state file that this program writes, and the only one
// that it reads.
const Schema = 10

// Status says whether a run is under way, and if not, why.
type Status string

// The statuses of a run. All but Running are final for the process.
const (
	Running        Status = "running"
	Completed      Status = "completed"
	Failed         Status = "failed"
	OverBudget     Status = "over_budget"
	OverIterations Status = "over_iterations"
	Suspended      Status = "suspended"
	Cancelled      Status = "cancelled"
)

// IsKnown reports whether there is such a status.
func (s Status) IsKnown() bool {
	return slices.Contains(values["status"], string(s))
}

// SessionMode says how an invocation relates to a conversation.
type SessionMode string

// The session modes.
const (
	Fresh  SessionMode = "fresh"
	Resume SessionMode = "resume"
	Branch SessionMode = "branch"
)

// Run is everything about a run that its state file holds.
type Run struct {
	Schema     int       `json:"schema"`
	WorkflowID string    `json:"workflow_id" is:"workflow"`
	Created    time.Time `json:"created" is:"set"`
	// Mark is random. All processes of the run have it in their environment.
	Mark string `json:"mark" is:"mark"`
	// Scope is the absolute path the workflow was started from: a directory, a
	// zip archive, or one state file.
	Scope string `json:"scope" is:"path"`
	Entry string `json:"entry" is:"file"`
	// Dir is the orchestrator's directory, absolute: where agents without a
	// directory of their own work.
	Dir string `json:"dir" is:"path"`
	// Files has the SHA-256 of every state file when the run started, in hex.
	Files   map[string]string `json:"files" is:"sha256"`
	Meta    map[string]string `json:"meta,omitempty"`
	Options Options           `json:"options"`
	// Used names the states that have been started, in order of first use.
	Used []string `json:"used,omitempty" is:"file"`

	Progress Progress      `json:"progress"`
	Agents   []*Agent      `json:"agents"`          // in order of creation; ended ones are gone
	Ended    []Ending      `json:"ended,omitempty"` // in order of ending; the last thousand, and main
	Ledger   []LedgerEntry `json:"ledger,omitempty"`
	Events   []Event       `json:"events" is:"-"` // those of the last save, which are only reported again
	// Forgotten counts the agents that ended and whose results are no longer kept.
	Forgotten int `json:"forgotten,omitempty"`

	// Last is where main ended; set when the entry state can be continued by comments.
	Last *LastConversation `json:"last,omitempty"`
	// Parts are the agents that the last step handed over to the jobs of a matrix.
	Parts Parts `json:"parts,omitempty"`
	// Trace is where the run is exported to, of a run that is.
	Trace *Trace `json:"trace,omitempty"`

	// RerunOf is set for a run that began as a copy of another one, and InheritedUSD is what
	// that one had cost by then, which is in no other amount of this run.
	RerunOf      *RerunOf `json:"rerun_of,omitempty"`
	InheritedUSD USD      `json:"inherited_usd,omitempty"`

	byID map[string]*Agent
}

// Options are what the run was started with; flags of a resume override them.
type Options struct {
	BudgetUSD USD `json:"budget_usd"` // 0: none
	// Caps are limits on what many runs cost together, for this part of the run.
	Caps          []Cap `json:"caps,omitempty"`
	MaxIterations int   `json:"max_iterations,omitempty"`
	MaxParallel   int   `json:"max_parallel" is:"positive"`
	MaxAgents     int   `json:"max_agents" is:"positive"`
	MaxDepth      int   `json:"max_depth" is:"positive"`
	MaxRetries    int   `json:"max_retries"`
	// OverloadWait is how long failures of the service are waited out; nil for
	// DefaultOverloadWait, 0 to count them like others.
	OverloadWait *Duration `json:"overload_wait,omitempty"`
	// OnOverload says what follows when they outlast it: SuspendOnOverload, or "" for the
	// failure of the agent.
	OnOverload      string   `json:"on_overload,omitempty"`
	MaxReminders    int      `json:"max_reminders"`
	Timeout         Duration `json:"timeout,omitempty"`
	IdleTimeout     Duration `json:"idle_timeout,omitempty"`
	Grace           Duration `json:"grace,omitempty"`
	KeepGoing       bool     `json:"keep_going,omitempty"`
	Model           string   `json:"model,omitempty"`
	Effort          string   `json:"effort,omitempty"`
	PermissionMode  string   `json:"permission_mode"`
	SkipPermissions bool     `json:"dangerously_skip_permissions,omitempty"`
	AllowedTools    []string `json:"allowed_tools,omitempty"`
	DisallowedTools []string `json:"disallowed_tools,omitempty"`
	ClaudeArgs      []string `json:"claude_args,omitempty"`
	DoneWhen        []string `json:"done_when,omitempty"`
	MaxAttempts     int      `json:"max_attempts,omitempty"`
	// Backend is the agent CLI of the run's states that name none, "" for
	// protocol.DefaultBackend. Command is what protocol.BackendCommand runs.
	Backend string `json:"agent,omitempty" is:"backend?"`
	Command string `json:"agent_command,omitempty"`
	// Cage, Network, Workspace and ScriptEnv are the values of these flags, which protect the run: a resume on the
	// command line keeps those that it does not name. A job reads its inputs alone.
	Cage      string   `json:"cage,omitempty" is:"cage?"`
	Network   string   `json:"network,omitempty"` // "": open
	Workspace string   `json:"workspace,omitempty" is:"files?"`
	ScriptEnv []string `json:"script_env,omitempty"`
	// Prices are those that the user has given, by model.
	Prices map[string]Price `json:"prices,omitempty"`
}

// Progress is the part of a run that nearly every step changes. A Delta replaces all
// of it.
type Progress struct {
	Seq          int       `json:"seq"`    // steps committed so far
	Events       int       `json:"events"` // seq of the last event
	Status       Status    `json:"status" is:"status"`
	Reason       string    `json:"reason,omitempty"` // why it is not running
	Until        time.Time `json:"until,omitzero"`   // Suspended: when to resume
	Started      time.Time `json:"started"`          // of this part of the run
	Iterations   int       `json:"iterations"`       // state executions begun
	LastBegun    int       `json:"last_begun"`       // number of the agent that began an execution last
	Created      int       `json:"created"`          // agents created
	Launches     int       `json:"launches"`         // invocations begun
	FlakeRetries int       `json:"flake_retries"`
	TotalUSD     USD       `json:"total_usd"`           // sum of the ledger
	Exhausted    bool      `json:"exhausted,omitempty"` // an agent CLI ended at its own cap
	Warned       bool      `json:"warned,omitempty"`    // the event about 80 % of the budget was emitted
	Hold         string    `json:"hold,omitempty"`      // why nothing new starts until a resume
	// Suspensions is how often in a row the run was suspended since the service failed.
	Suspensions int `json:"suspensions,omitempty"`
	// Questions is the highest number of a question, and Continuations how often in a row
	// a step has started its workflow again by itself.
	Questions     int `json:"questions,omitempty"`
	Continuations int `json:"continuations,omitempty"`
	// HasProgress says that in this part of the run an agent has moved on, or has used up an
	// attempt. Continuing is set when the deadline has ended the part and a step may start
	// its workflow again.
	HasProgress bool         `json:"moved,omitempty"`
	Continuing  Continuation `json:"continuing,omitempty"`
	// HasJoin says that agents may join those that they fork, so that what has become of
	// these is kept until then.
	HasJoin bool `json:"has_join,omitempty"`
}

// AgentStatus says what an agent waits for.
type AgentStatus string

// The statuses of an agent.
const (
	Ready   AgentStatus = "ready"   // to be run, or for NotBefore
	Busy    AgentStatus = "running" // an invocation is under way
	Stuck   AgentStatus = "failed"  // until somebody resumes the run
	Waiting AgentStatus = "waiting" // for what Agent.Waits says; between two states
	removed AgentStatus = ""        // ended; dropped when the step is applied
)

// Agent is one thread of a run.
type Agent struct {
	ID     string `json:"id" is:"agent"`
	N      int    `json:"n"` // order of creation, from 1
	Parent string `json:"parent,omitempty"`
	State  string `json:"state" is:"file"` // resolved file name
	// By is who has brought the agent to State: "agent STATE", "script STATE", "person LOGIN"
	// or "start". Visits counts how often it has entered each state, this time included.
	By     string         `json:"by" is:"who"`
	Visits map[string]int `json:"visits" is:"positive"`
	Status AgentStatus    `json:"status" is:"standing"`
	// Dir is where the agent works, absolute; "" for the orchestrator's.
	Dir string `json:"dir,omitempty" is:"path?"`
	// Session is the conversation that a goto resumes. While a state runs it
	// stays what it was on entry.
	Session *Session `json:"session,omitempty"`
	// Branch asks for a branch of Session at the next state: the agent was called.
	Branch bool   `json:"branch,omitempty"`
	Model  string `json:"model,omitempty"` // of a function tag, for the next state
	// Backend is the agent CLI that a function tag names, for the next state.
	Backend string  `json:"backend,omitempty" is:"backend?"`
	Stack   []Frame `json:"stack,omitempty"`
	Payload Text    `json:"payload,omitempty"`
	// Report is what a state that gave up tells the one after it about its last attempt.
	Report Text              `json:"report,omitempty"`
	Vars   map[string]string `json:"vars,omitempty"`
	Forks  int               `json:"forks,omitempty"` // agents forked so far
	// Cut is the length to cut the transcript of Session back to before the next state
	// starts, which removes what a failed execution said in it.
	Cut *int64 `json:"cut,omitempty"`
	// Exec is the state execution under way, or the one that failed.
	Exec *Exec `json:"exec,omitempty"`
	// NotBefore is when a wait ends. Wait is its whole length, so that a changed clock
	// can't make it longer.
	NotBefore time.Time `json:"not_before,omitzero"`
	Wait      Duration  `json:"wait,omitempty"`
	// Waits is what the agent waits for before its state starts; set when its status is
	// Waiting.
	Waits *WaitCondition `json:"waits,omitempty"`
	// Handovers counts how often the agent was handed over to another job.
	Handovers int `json:"handed,omitempty"`
	// Outage is a row of failures of the service that is being waited out.
	Outage *Outage `json:"outage,omitempty"`
	// Failure is why the agent failed; set when its status is Stuck.
	Failure *AgentFailure `json:"failure,omitempty"`
	// UnknownCosts counts the successful invocations in a row, in this process, of which
	// nobody knows the cost.
	UnknownCosts int `json:"unknown,omitempty"`
}

// Session is a conversation of an agent CLI.
type Session struct {
	ID string `json:"id" is:"session"` // chosen by this program, unless the CLI has replaced it
	// Backend is the agent CLI that it belongs to, "" for protocol.DefaultBackend.
	Backend string `json:"backend,omitempty" is:"backend?"`
	// CLIID is the CLI's own id of it, which may be ID; "" when the CLI has told none, and for
	// the default one, which takes ID.
	CLIID string `json:"cli_id,omitempty" is:"session?"`
	// Model is the one the conversation began with, "" when unknown.
	Model string `json:"model,omitempty"`
	// Chosen says that some state picked a model for it, so that states without
	// one must ask for Model again.
	Chosen bool `json:"chosen,omitempty"`
	// RunningTotal is that of the cost of the last invocation in it.
	RunningTotal RunningTotal `json:"reached,omitzero"`
	// End is the length of its transcript in bytes when the last invocation in it had ended;
	// nil when that is not known.
	End *int64 `json:"end,omitempty"`
}

// RunningTotal is what an agent CLI has counted for a conversation so far.
type RunningTotal struct {
	USD    USD         `json:"usd"`              // in all
	Models []ModelCost `json:"models,omitempty"` // by model
}

// Frame is where a call or function returns to.
type Frame struct {
	State   string   `json:"state" is:"file"`
	Session *Session `json:"session,omitempty"`
	// Branch says that the caller had not yet branched off Session itself.
	Branch bool   `json:"branch,omitempty"`
	Dir    string `json:"dir,omitempty" is:"path?"`
}

// Phase says where inside an attempt an execution is.
type Phase string

// The phases of an attempt.
const (
	PhaseAgent  Phase = "agent"
	PhaseVerify Phase = "verify"
)

// Exec is one visit of an agent to a state. An attempt is one agent run inside
// it plus its verdict; an invocation is one process.
type Exec struct {
	// Iteration is the number of this execution among all of the run.
	Iteration int       `json:"iteration" is:"positive"`
	Attempt   int       `json:"attempt" is:"positive"` // from 1
	Phase     Phase     `json:"phase" is:"phase"`
	Started   time.Time `json:"started" is:"set"`
	// EntryLen is the length of the entry session's transcript when the
	// execution began; a failed one is cut back to it.
	EntryLen *int64 `json:"entry_len,omitempty"`
	// Session is the conversation of this attempt, once an invocation of it
	// brought one; nil before.
	Session *Session `json:"session,omitempty"`
	Retries int      `json:"retries,omitempty"` // failed invocations
	// Reminders counts the refused answers; Reminder is the text to send next.
	Reminders int    `json:"reminders,omitempty"`
	Reminder  string `json:"reminder,omitempty"`
	// Continue says that the last invocation ran out of budget or turns, and that the
	// next one continues its session.
	Continue bool `json:"continue,omitempty"`
	// Interrupted says why the last invocation was cut off, until it is repeated. Noted
	// says that from then on the agent is told of an interruption.
	Interrupted    string `json:"interrupted,omitempty"`
	WasInterrupted bool   `json:"noted,omitempty"`
	// Inherited says that it began in the run of which this one began as a copy, and that no
	// event of this one tells it yet.
	Inherited bool  `json:"inherited,omitempty"`
	Spent     Spent `json:"spent"`
	// Models is what of Spent is known by model.
	Models map[string]USD `json:"models,omitempty"`
	// Tokens is what its invocations are known to have used; nil while nothing is.
	Tokens *Tokens `json:"tokens,omitempty"`
	Turns  int     `json:"turns,omitempty"`
	// Refusals are the uses of tools that were refused, the first ones with what is known about each.
	Refusals []Refusal `json:"denied,omitempty"`
	// AgentCLI is the version and the path of the agent CLI that ran last.
	AgentCLI string `json:"agent_cli,omitempty"`
	// Running is the invocation under way. It is saved before the process starts.
	Running *Invocation `json:"running,omitempty"`
	// Cut is the length to cut the resumed transcript to before the next
	// invocation, when the last one must be undone.
	Cut *int64 `json:"cut,omitempty"`
	// AttemptStarted and AttemptSpent are of the attempt under way.
	AttemptStarted time.Time `json:"attempt_started,omitzero"`
	AttemptSpent   Spent     `json:"attempt_spent"`
	// PendingMove is the move that waits for the verdict. Refused says why there is none.
	PendingMove *protocol.Decision `json:"asked,omitempty"`
	MoveProblem string             `json:"refused,omitempty"`
	// MoveReminder is the reminder to send when the commands pass but there is no move. Untagged
	// says that the message had no tag at all.
	MoveReminder string `json:"reask,omitempty"`
	HasNoTag     bool   `json:"untagged,omitempty"`
	// PassedResults has the results of the commands when they have passed in this attempt and
	// only the move is missing.
	PassedResults []CommandResult `json:"passed,omitempty"`
	// LastingFailure is why the agent run failed when another attempt would fail in the
	// same way.
	LastingFailure *AgentFailure `json:"lasting_failure,omitempty"`
	// AgentCode is the exit code of the attempt's agent run.
	AgentCode int `json:"agent_code,omitempty" is:"signed"`
	// Verdict is that of the last failed attempt.
	Verdict *NodeAttempt `json:"verdict,omitempty"`
	// Protected has a digest of each protected file when the execution began.
	Protected map[string]string `json:"protected,omitempty"`
}

// Invocation is one process that was, or is about to be, started.
type Invocation struct {
	N         int         `json:"n" is:"positive"` // counts the invocations of the run
	Mode      SessionMode `json:"mode,omitempty" is:"mode?"`
	SessionID string      `json:"session_id,omitempty"` // used by it
	From      string      `json:"from,omitempty"`       // branched from
	// Backend is the agent CLI, "" for protocol.DefaultBackend. CLIID and FromCLIID are its own
	// ids of SessionID and From; CLIID is saved as soon as the CLI has told it.
	Backend   string `json:"backend,omitempty" is:"backend?"`
	CLIID     string `json:"cli_id,omitempty" is:"session?"`
	FromCLIID string `json:"from_cli_id,omitempty" is:"session?"`
	Model     string `json:"model,omitempty"`  // asked for
	Length    *int64 `json:"length,omitempty"` // of the transcript before it
	// Metered is what was seen of its tokens so far, one element a model, so that a
	// crash does not lose it.
	Metered []Usage `json:"metered,omitempty"`
}

// AgentFailure is why an agent can't continue until somebody resumes the run.
type AgentFailure struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// Ending is what became of an agent that ended.
type Ending struct {
	Agent  string `json:"agent" is:"agent"`
	Result Text   `json:"result"`
	// Error is why the agent failed, if that has ended it: a join has delivered it.
	Error string `json:"error,omitempty"`
	// Parent is the agent that forked it, and N its number in the order of creation. Both
	// are kept while a join may still deliver it; Delivered says that one has.
	Parent    string `json:"parent,omitempty" is:"agent?"`
	N         int    `json:"n,omitempty"`
	Delivered bool   `json:"delivered,omitempty"`
	// Dir is where it worked, absolute; kept in the run of a part alone, whose work is
	// brought back.
	Dir string `json:"dir,omitempty" is:"path?"`
}
