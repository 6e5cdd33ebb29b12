package state

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// Schema is the version of the state file that this program writes, and the only one
// that it reads.
const Schema = 10

// Status is the state of a run as a whole: under way, or how it ended.
type Status string

// The statuses of a run. The process that drives a run ends with any status except Running.
const (
	Running        Status = "running"
	Completed      Status = "completed"
	Failed         Status = "failed"
	OverBudget     Status = "over_budget"
	OverIterations Status = "over_iterations"
	Suspended      Status = "suspended"
	Cancelled      Status = "cancelled"
)

// IsKnown reports whether s is a defined status.
func (s Status) IsKnown() bool {
	return slices.Contains(values["status"], string(s))
}

// SessionMode is the way an invocation uses a conversation: it begins a new one, continues one,
// or continues a copy of one.
type SessionMode string

// The session modes.
const (
	Fresh  SessionMode = "fresh"
	Resume SessionMode = "resume"
	Branch SessionMode = "branch"
)

// Run is the complete state of a run, as the state file stores it.
type Run struct {
	Schema     int       `json:"schema"`
	WorkflowID string    `json:"workflow_id" is:"workflow"`
	Created    time.Time `json:"created" is:"set"`
	// Mark is a random text. Every process that the run starts has it in its environment, so
	// that leftover processes can be found.
	Mark string `json:"mark" is:"mark"`
	// Scope is the absolute path the workflow was started from: a directory, a
	// zip archive, or one state file.
	Scope string `json:"scope" is:"path"`
	Entry string `json:"entry" is:"file"`
	// Dir is the orchestrator's directory, absolute. Agents without a directory work there.
	Dir string `json:"dir" is:"path"`
	// Files has the SHA-256 of every state file at the start of the run, in hex.
	Files   map[string]string `json:"files" is:"sha256"`
	Meta    map[string]string `json:"meta,omitempty"`
	Options Options           `json:"options"`
	// Used names the states that have been started, in order of first use.
	Used []string `json:"used,omitempty" is:"file"`

	Progress Progress      `json:"progress"`
	Agents   []*Agent      `json:"agents"`          // in order of creation; agents that have ended are not in it
	Ended    []Ending      `json:"ended,omitempty"` // in order of ending: the last thousand agents, and main
	Ledger   []LedgerEntry `json:"ledger,omitempty"`
	Events   []Event       `json:"events" is:"-"` // the events of the last saved step; a resume reports them again
	// Forgotten counts the agents that ended and whose results have been dropped from Ended.
	Forgotten int `json:"forgotten,omitempty"`

	// Last is where main ended; set only if a comment can continue from there.
	Last *LastConversation `json:"last,omitempty"`
	// Parts are the shares of agents that the last step handed over to the jobs of a matrix.
	Parts Parts `json:"parts,omitempty"`
	// Trace is the trace that the run is exported to; nil for a run that is not exported.
	Trace *Trace `json:"trace,omitempty"`

	// RerunOf is set for a run that began as a copy of another run. InheritedUSD is the cost
	// of that run up to the copy; no other amount of this run includes it.
	RerunOf      *RerunOf `json:"rerun_of,omitempty"`
	InheritedUSD USD      `json:"inherited_usd,omitempty"`

	byID map[string]*Agent
}

// Options are the settings that the run was started with. Flags of a resume override them.
type Options struct {
	BudgetUSD USD `json:"budget_usd"` // 0: no budget
	// Caps are limits on the cost of many runs together, for the current segment of the run.
	Caps          []Cap `json:"caps,omitempty"`
	MaxIterations int   `json:"max_iterations,omitempty"`
	MaxParallel   int   `json:"max_parallel" is:"positive"`
	MaxAgents     int   `json:"max_agents" is:"positive"`
	MaxDepth      int   `json:"max_depth" is:"positive"`
	MaxRetries    int   `json:"max_retries"`
	// OverloadWait is how long an agent waits for a failing model service. nil means
	// DefaultOverloadWait; 0 means that such failures count as ordinary failures.
	OverloadWait *Duration `json:"overload_wait,omitempty"`
	// OnOverload decides how the run continues after OverloadWait: SuspendOnOverload suspends it,
	// "" fails the agent.
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
	// Backend is the default agent CLI of the run, "" for protocol.DefaultBackend. Command is
	// the program that protocol.BackendCommand runs.
	Backend string `json:"agent,omitempty" is:"backend?"`
	Command string `json:"agent_command,omitempty"`
	// Cage, Network, Workspace and ScriptEnv are the values of these flags, which protect the
	// run. A resume on the command line keeps the values that it does not set; a job always
	// takes them from its inputs.
	Cage      string   `json:"cage,omitempty" is:"cage?"`
	Network   string   `json:"network,omitempty"` // "": unrestricted
	Workspace string   `json:"workspace,omitempty" is:"files?"`
	ScriptEnv []string `json:"script_env,omitempty"`
	// Prices are the prices set by the user, by model.
	Prices map[string]Price `json:"prices,omitempty"`
}

// Progress holds the fields of a run that change in nearly every step. A Delta replaces it
// as a whole.
type Progress struct {
	Seq          int       `json:"seq"`    // steps saved so far
	Events       int       `json:"events"` // number of the last event
	Status       Status    `json:"status" is:"status"`
	Reason       string    `json:"reason,omitempty"` // why the run is not running
	Until        time.Time `json:"until,omitzero"`   // when to resume a suspended run; zero when any time will do
	Started      time.Time `json:"started"`          // when the current segment of the run began
	Iterations   int       `json:"iterations"`       // state executions started
	LastBegun    int       `json:"last_begun"`       // number of the agent that last began an execution
	Created      int       `json:"created"`          // agents created
	Launches     int       `json:"launches"`         // invocations started
	FlakeRetries int       `json:"flake_retries"`
	TotalUSD     USD       `json:"total_usd"`           // sum of the ledger
	Exhausted    bool      `json:"exhausted,omitempty"` // an agent CLI stopped because it had spent its own budget
	Warned       bool      `json:"warned,omitempty"`    // the event at 80 % of the budget was emitted
	Hold         string    `json:"hold,omitempty"`      // why nothing new starts until a resume
	// Suspensions counts how often in a row the run was suspended because the service failed.
	Suspensions int `json:"suspensions,omitempty"`
	// Questions is the number of the last question. Continuations counts how often in a row
	// the action started its workflow again after a deadline.
	Questions     int `json:"questions,omitempty"`
	Continuations int `json:"continuations,omitempty"`
	// HasProgress is set if in the current segment an agent has moved to another state or has
	// used up an attempt. Continuing is set when a deadline ended the segment.
	HasProgress bool         `json:"moved,omitempty"`
	Continuing  Continuation `json:"continuing,omitempty"`
	// HasJoin is set if agents may join the agents they forked, so results are kept until then.
	HasJoin bool `json:"has_join,omitempty"`
}

// AgentStatus is the status of an agent: it can run, runs, waits or has failed.
type AgentStatus string

// The statuses of an agent.
const (
	Ready   AgentStatus = "ready"   // can run, after NotBefore
	Busy    AgentStatus = "running" // an invocation is under way
	Stuck   AgentStatus = "failed"  // failed; a resume tries again
	Waiting AgentStatus = "waiting" // waits between two states, for Agent.Waits
	removed AgentStatus = ""        // has ended; dropped when the step is applied
)

// Agent is one thread of a run.
type Agent struct {
	ID     string `json:"id" is:"agent"`
	N      int    `json:"n"` // order of creation, from 1
	Parent string `json:"parent,omitempty"`
	State  string `json:"state" is:"file"` // file name, with its extension
	// By is the cause of the agent's last move to State: "agent STATE", "script STATE",
	// "person LOGIN" or "start". Visits counts how often the agent has entered each state,
	// including now.
	By     string         `json:"by" is:"who"`
	Visits map[string]int `json:"visits" is:"positive"`
	Status AgentStatus    `json:"status" is:"standing"`
	// Dir is the directory in which the agent works, absolute; "" for Run.Dir.
	Dir string `json:"dir,omitempty" is:"path?"`
	// Session is the conversation that a goto resumes. It does not change while a state runs.
	Session *Session `json:"session,omitempty"`
	// Branch asks for a copy of Session in the next state, because the agent used <call>.
	Branch bool   `json:"branch,omitempty"`
	Model  string `json:"model,omitempty"` // set by a function tag, for the next state
	// Backend is the agent CLI that a function tag names for the next state.
	Backend string  `json:"backend,omitempty" is:"backend?"`
	Stack   []Frame `json:"stack,omitempty"`
	Payload Text    `json:"payload,omitempty"`
	// Report describes the last attempt of the state before this one, if that state gave up.
	Report Text              `json:"report,omitempty"`
	Vars   map[string]string `json:"vars,omitempty"`
	Forks  int               `json:"forks,omitempty"` // number of agents forked so far
	// Cut is the length to which the transcript of Session is cut before the next state
	// starts. This removes the messages of a failed execution.
	Cut *int64 `json:"cut,omitempty"`
	// Exec is the state execution under way, or the failed execution.
	Exec *Exec `json:"exec,omitempty"`
	// NotBefore is when a pause ends. Wait is the whole length of that pause; it limits the
	// pause when the clock was changed.
	NotBefore time.Time `json:"not_before,omitzero"`
	Wait      Duration  `json:"wait,omitempty"`
	// Waits is the wait before the agent's state starts; set only with status Waiting.
	Waits *WaitCondition `json:"waits,omitempty"`
	// Handovers counts how often the agent was handed over to another job.
	Handovers int `json:"handed,omitempty"`
	// Outage is set while the agent waits because the model's service fails.
	Outage *Outage `json:"outage,omitempty"`
	// Failure is why the agent failed; set only with status Stuck.
	Failure *AgentFailure `json:"failure,omitempty"`
	// UnknownCosts counts the latest successful invocations in a row, in this process, whose
	// cost is unknown.
	UnknownCosts int `json:"unknown,omitempty"`
}

// Session is a conversation of an agent CLI.
type Session struct {
	ID string `json:"id" is:"session"` // chosen by this program, unless the CLI replaced it
	// Backend is the agent CLI of the conversation, "" for protocol.DefaultBackend.
	Backend string `json:"backend,omitempty" is:"backend?"`
	// CLIID is the CLI's own id of the conversation, which may equal ID. It is "" for a CLI
	// that reported no id, and for the default CLI, which uses ID.
	CLIID string `json:"cli_id,omitempty" is:"session?"`
	// Model is the model with which the conversation began, "" when unknown.
	Model string `json:"model,omitempty"`
	// Chosen is set if a state has picked a model in this conversation, so a later state
	// without a model must request Model explicitly.
	Chosen bool `json:"chosen,omitempty"`
	// RunningTotal is the CLI's own total after the last invocation of the conversation.
	RunningTotal RunningTotal `json:"reached,omitzero"`
	// End is the length of the transcript in bytes after the last invocation; nil when unknown.
	End *int64 `json:"end,omitempty"`
}

// RunningTotal is the total that an agent CLI reports for a conversation so far.
type RunningTotal struct {
	USD    USD         `json:"usd"`              // for all models
	Models []ModelCost `json:"models,omitempty"` // by model
}

// Frame is an entry of an agent's return stack, pushed by <call> and <function>.
type Frame struct {
	State   string   `json:"state" is:"file"`
	Session *Session `json:"session,omitempty"`
	// Branch is set if the caller itself still had to copy Session (see Agent.Branch).
	Branch bool   `json:"branch,omitempty"`
	Dir    string `json:"dir,omitempty" is:"path?"`
}

// Phase is the part of an attempt that an execution is in: the agent CLI runs, or done_when
// commands verify its work.
type Phase string

// The phases of an attempt.
const (
	PhaseAgent  Phase = "agent"
	PhaseVerify Phase = "verify"
)

// Exec is one visit of an agent to a state. It has one or more attempts; each attempt runs
// the agent CLI or script, perhaps with retries, and then the done_when commands. An
// invocation is one process.
type Exec struct {
	// Iteration is the number of this execution within the run, from 1.
	Iteration int       `json:"iteration" is:"positive"`
	Attempt   int       `json:"attempt" is:"positive"` // from 1
	Phase     Phase     `json:"phase" is:"phase"`
	Started   time.Time `json:"started" is:"set"`
	// EntryLen is the length of the transcript of the agent's conversation when the execution
	// began. A failed execution is cut back to it.
	EntryLen *int64 `json:"entry_len,omitempty"`
	// Session is the conversation of the current attempt; nil until an invocation has begun it.
	Session *Session `json:"session,omitempty"`
	Retries int      `json:"retries,omitempty"` // failed invocations of this attempt
	// Reminders counts the refused answers. Reminder is the text to send next.
	Reminders int    `json:"reminders,omitempty"`
	Reminder  string `json:"reminder,omitempty"`
	// Continue is set if the last invocation stopped at its limit of cost or turns, so that
	// the next invocation continues its conversation.
	Continue bool `json:"continue,omitempty"`
	// Interrupted is the reason why the last invocation was cut off, until it is repeated.
	// WasInterrupted is set from then on; prompts mention the interruption.
	Interrupted    string `json:"interrupted,omitempty"`
	WasInterrupted bool   `json:"noted,omitempty"`
	// Inherited is set if the execution began in the run from which this run was copied. No
	// event of this run mentions it yet.
	Inherited bool  `json:"inherited,omitempty"`
	Spent     Spent `json:"spent"`
	// Models is the part of Spent that is known by model.
	Models map[string]USD `json:"models,omitempty"`
	// Tokens is the known token use of all invocations; nil if unknown.
	Tokens *Tokens `json:"tokens,omitempty"`
	Turns  int     `json:"turns,omitempty"`
	// Refusals are the tool uses that the agent CLI refused; the first ones with details.
	Refusals []Refusal `json:"denied,omitempty"`
	// AgentCLI is the version and the path of the agent CLI that ran last.
	AgentCLI string `json:"agent_cli,omitempty"`
	// Running is the invocation under way. It is saved before the process starts.
	Running *Invocation `json:"running,omitempty"`
	// Cut is the length to which the transcript is cut before the next invocation, to undo
	// the last one.
	Cut *int64 `json:"cut,omitempty"`
	// AttemptStarted and AttemptSpent belong to the current attempt.
	AttemptStarted time.Time `json:"attempt_started,omitzero"`
	AttemptSpent   Spent     `json:"attempt_spent"`
	// PendingMove is the move to make if the commands pass. MoveProblem is the reason if it is nil.
	PendingMove *protocol.Decision `json:"asked,omitempty"`
	MoveProblem string             `json:"refused,omitempty"`
	// MoveReminder is the reminder to send when the commands pass but a valid move is missing.
	// HasNoTag is set if the message contained no tag at all.
	MoveReminder string `json:"reask,omitempty"`
	HasNoTag     bool   `json:"untagged,omitempty"`
	// PassedResults are the results of the commands if they passed in this attempt and only a
	// valid move is missing.
	PassedResults []CommandResult `json:"passed,omitempty"`
	// LastingFailure is why the agent CLI failed, if further attempts would fail in the same way.
	LastingFailure *AgentFailure `json:"lasting_failure,omitempty"`
	// AgentCode is the exit code of the agent CLI in this attempt.
	AgentCode int `json:"agent_code,omitempty" is:"signed"`
	// Verdict is the verdict on the last failed attempt.
	Verdict *NodeAttempt `json:"verdict,omitempty"`
	// Protected has a digest of each protected file, from the start of the execution.
	Protected map[string]string `json:"protected,omitempty"`
}

// Invocation is one process of an agent CLI or script that runs or is about to start.
type Invocation struct {
	N         int         `json:"n" is:"positive"` // number of the invocation within the run
	Mode      SessionMode `json:"mode,omitempty" is:"mode?"`
	SessionID string      `json:"session_id,omitempty"` // the conversation that it writes
	From      string      `json:"from,omitempty"`       // the conversation that it was copied from
	// Backend is the agent CLI, "" for protocol.DefaultBackend. CLIID and FromCLIID are the
	// CLI's own ids of SessionID and From. CLIID is saved as soon as the CLI reports it.
	Backend   string `json:"backend,omitempty" is:"backend?"`
	CLIID     string `json:"cli_id,omitempty" is:"session?"`
	FromCLIID string `json:"from_cli_id,omitempty" is:"session?"`
	Model     string `json:"model,omitempty"`  // the model that is requested
	Length    *int64 `json:"length,omitempty"` // length of the transcript before the invocation
	// Metered has the tokens counted in its output so far, one element for each model. It is
	// saved so that a crash does not lose them.
	Metered []Usage `json:"metered,omitempty"`
}

// AgentFailure is why an agent can't continue until the run is resumed.
type AgentFailure struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// Ending is the result of an agent that has ended.
type Ending struct {
	Agent  string `json:"agent" is:"agent"`
	Result Text   `json:"result"`
	// Error is why the agent failed; set only if a join has delivered the failure.
	Error string `json:"error,omitempty"`
	// Parent is the agent that forked it, and N its number in order of creation. Both are kept
	// while a join may still deliver the result. Delivered is set if a join has delivered it.
	Parent    string `json:"parent,omitempty" is:"agent?"`
	N         int    `json:"n,omitempty"`
	Delivered bool   `json:"delivered,omitempty"`
	// Dir is the directory in which the agent worked, absolute. It is kept only in the run of
	// a part, whose files are merged later.
	Dir string `json:"dir,omitempty" is:"path?"`
}
