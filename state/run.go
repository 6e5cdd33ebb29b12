package state

import (
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/protocol"
)

// Schema is the version of the state file's format. This program writes and reads only this version.
const Schema = 10

// Status is the status of a run: it is running, or it has stopped for a certain reason.
type Status string

// The statuses of a run. Step.Close sets any of them except Running.
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
	// Mark is a random string. It is in the environment of every process that the run starts, so
	// that processes left over from the run can be found.
	Mark string `json:"mark" is:"mark"`
	// Scope is the absolute path of the workflow: a directory, a zip archive, or the file of a
	// single state. Entry is the file name of the first state.
	Scope string `json:"scope" is:"path"`
	Entry string `json:"entry" is:"file"`
	// Dir is the absolute path of the run's directory. Agents without their own directory work there.
	Dir string `json:"dir" is:"path"`
	// Files maps the file name of each state to the SHA-256 of that file, in hex. The hashes are
	// from the start of the run, or from a resume that found changed files.
	Files   map[string]string `json:"files" is:"sha256"`
	Meta    map[string]string `json:"meta,omitempty"`
	Options Options           `json:"options"`
	// Used lists the file names of the states that have been started, in order of first use.
	Used []string `json:"used,omitempty" is:"file"`

	Progress Progress      `json:"progress"`
	Agents   []*Agent      `json:"agents"`          // agents that have not ended, in order of creation
	Ended    []Ending      `json:"ended,omitempty"` // results of ended agents, in order of ending; old results are dropped
	Ledger   []LedgerEntry `json:"ledger,omitempty"`
	Events   []Event       `json:"events" is:"-"` // events of the last saved step, which a resume reports again
	// Forgotten counts the ended agents whose results have been dropped from Ended.
	Forgotten int `json:"forgotten,omitempty"`

	// Last is the conversation with which the agent main ended. It is set only if the run records it,
	// so that a comment can start another run that continues the conversation; see KeepLastConversation.
	Last *LastConversation `json:"last,omitempty"`
	// Parts are the groups of agents that the last step handed over to the jobs of a matrix. Parts
	// of earlier matrices follow if they may still run. The run of a part contains only that part.
	Parts Parts `json:"parts,omitempty"`
	// Trace is the OpenTelemetry trace of the run. It is nil if the run is not exported.
	Trace *Trace `json:"trace,omitempty"`

	// RerunOf is set if the run began as a copy of another run. InheritedUSD is the cost of the
	// other run up to the copy. No other amount in this run includes that cost.
	RerunOf      *RerunOf `json:"rerun_of,omitempty"`
	InheritedUSD USD      `json:"inherited_usd,omitempty"`

	byID map[string]*Agent
}

// Options are the settings with which the run was started. The flags of a resume override them.
type Options struct {
	BudgetUSD USD `json:"budget_usd"` // 0 means no budget
	// Caps limit the total cost of many runs. They apply to the current segment of this run.
	Caps          []Cap `json:"caps,omitempty"`
	MaxIterations int   `json:"max_iterations,omitempty"`
	MaxParallel   int   `json:"max_parallel" is:"positive"`
	MaxAgents     int   `json:"max_agents" is:"positive"`
	MaxDepth      int   `json:"max_depth" is:"positive"`
	MaxRetries    int   `json:"max_retries"`
	// OverloadWait is how long an agent waits for a failing model service. If it is nil, the agent
	// waits for DefaultOverloadWait. If it is 0, such failures are handled like all others.
	OverloadWait *Duration `json:"overload_wait,omitempty"`
	// OnOverload decides how the run continues if the service still fails after OverloadWait.
	// SuspendOnOverload suspends the run; an empty value fails the agent.
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
	// Backend is the run's default agent CLI. If it is empty, protocol.DefaultBackend is used.
	// Command is the program to run if the agent CLI is protocol.BackendCommand.
	Backend string `json:"agent,omitempty" is:"backend?"`
	Command string `json:"agent_command,omitempty"`
	// Cage, Network, Workspace and ScriptEnv are the values of the flags with these names, which
	// protect the run. A resume on the command line keeps the values that it does not set; a job
	// always takes them from its inputs.
	Cage      string   `json:"cage,omitempty" is:"cage?"`
	Network   string   `json:"network,omitempty"` // empty means unrestricted
	Workspace string   `json:"workspace,omitempty" is:"files?"`
	ScriptEnv []string `json:"script_env,omitempty"`
	// Prices contains the prices that the user set, by model.
	Prices map[string]Price `json:"prices,omitempty"`
}

// Progress contains the fields of a run that change in nearly every step. Every Delta contains a
// full copy, which replaces the previous one.
type Progress struct {
	Seq          int       `json:"seq"`    // number of saved steps
	Events       int       `json:"events"` // number of the last event
	Status       Status    `json:"status" is:"status"`
	Reason       string    `json:"reason,omitempty"`    // why the run did not complete; empty while it is running
	Until        time.Time `json:"until,omitzero"`      // when to resume a suspended run; zero means at any time
	Started      time.Time `json:"started"`             // when the current segment of the run began
	Iterations   int       `json:"iterations"`          // number of the last state execution
	LastBegun    int       `json:"last_begun"`          // Agent.N of the agent that began the last execution
	Created      int       `json:"created"`             // number of agents created
	Launches     int       `json:"launches"`            // number of invocations started
	FlakeRetries int       `json:"flake_retries"`       // executions that needed more than one attempt
	TotalUSD     USD       `json:"total_usd"`           // sum of the ledger
	Exhausted    bool      `json:"exhausted,omitempty"` // set if an agent CLI stopped because it had spent its budget
	Warned       bool      `json:"warned,omitempty"`    // set after the event at 80 % of the budget
	Hold         string    `json:"hold,omitempty"`      // if not empty, the reason why nothing starts until a resume
	// Suspensions counts the consecutive suspensions because the model's service failed.
	Suspensions int `json:"suspensions,omitempty"`
	// Questions is the number of the last question. Continuations counts how many times in a row
	// the action has started its workflow again after a deadline.
	Questions     int `json:"questions,omitempty"`
	Continuations int `json:"continuations,omitempty"`
	// HasProgress is set if, in the current segment, an agent moved to another state or used up an
	// attempt. Continuing is set if a deadline ended the segment.
	HasProgress bool         `json:"moved,omitempty"`
	Continuing  Continuation `json:"continuing,omitempty"`
	// HasJoin is set if agents may join the agents that they forked. The run then keeps the results
	// of agents until a join delivers them.
	HasJoin bool `json:"has_join,omitempty"`
}

// AgentStatus is the status of an agent: ready, running, failed or waiting.
type AgentStatus string

// The statuses of an agent.
const (
	Ready   AgentStatus = "ready"   // can run when NotBefore has passed
	Busy    AgentStatus = "running" // an invocation or a done_when command is running
	Stuck   AgentStatus = "failed"  // failed; a resume tries again
	Waiting AgentStatus = "waiting" // waits for the condition in Agent.Waits
	removed AgentStatus = ""        // has ended; Run.Apply removes the agent
)

// Agent is one thread of a run.
type Agent struct {
	ID     string `json:"id" is:"agent"`
	N      int    `json:"n"` // the agents of a run are numbered from 1, in order of creation
	Parent string `json:"parent,omitempty"`
	State  string `json:"state" is:"file"` // file name of the state, with its extension
	// By is the cause of the agent's move to State: "agent STATE", "script STATE", "person LOGIN" or
	// "start". Visits counts how often the agent has entered each state. It includes the current
	// visit.
	By     string         `json:"by" is:"who"`
	Visits map[string]int `json:"visits" is:"positive"`
	Status AgentStatus    `json:"status" is:"standing"`
	// Dir is the absolute path of the agent's directory. If it is empty, the agent works in Run.Dir.
	Dir string `json:"dir,omitempty" is:"path?"`
	// Session is the conversation that a goto continues. It does not change while the agent is in a
	// state.
	Session *Session `json:"session,omitempty"`
	// Branch is set if the next state must continue a copy of Session, for example after a <call>.
	Branch bool   `json:"branch,omitempty"`
	Model  string `json:"model,omitempty"` // model that a function tag requests for the next state
	// Backend is the agent CLI that a function tag requests for the next state.
	Backend string  `json:"backend,omitempty" is:"backend?"`
	Stack   []Frame `json:"stack,omitempty"`
	Payload Text    `json:"payload,omitempty"`
	// Report describes the last attempt in the previous state, if that state gave up.
	Report Text              `json:"report,omitempty"`
	Vars   map[string]string `json:"vars,omitempty"`
	Forks  int               `json:"forks,omitempty"` // number of agents that it has forked
	// Cut is the length in bytes to which the transcript of Session is cut before the next execution
	// starts. This removes the messages of a failed execution. A nil Cut leaves the transcript unchanged.
	Cut *int64 `json:"cut,omitempty"`
	// Exec is the current or the failed state execution. It is nil between two states.
	Exec *Exec `json:"exec,omitempty"`
	// NotBefore is the end of a pause, for example before a retry. Wait is the length of the pause:
	// a resume never pauses for longer, even if the clock was set back.
	NotBefore time.Time `json:"not_before,omitzero"`
	Wait      Duration  `json:"wait,omitempty"`
	// Waits is the condition for which the agent waits. It is set only if Status is Waiting.
	Waits *WaitCondition `json:"waits,omitempty"`
	// Handovers counts how often the agent was handed over to another job.
	Handovers int `json:"handed,omitempty"`
	// Outage is set while the agent waits for a model service that fails.
	Outage *Outage `json:"outage,omitempty"`
	// Failure is the reason why the agent failed. It is set only if Status is Stuck.
	Failure *AgentFailure `json:"failure,omitempty"`
	// UnknownCosts counts the agent's latest consecutive successful invocations whose cost is
	// unknown. Each process counts from zero.
	UnknownCosts int `json:"unknown,omitempty"`
}

// Session is a conversation of an agent CLI.
type Session struct {
	ID string `json:"id" is:"session"` // usually chosen by this program; the CLI may replace it
	// Backend is the agent CLI of the conversation. If it is empty, it is protocol.DefaultBackend.
	Backend string `json:"backend,omitempty" is:"backend?"`
	// CLIID is the id that the CLI itself uses for the conversation, which may equal ID. It is empty
	// if the CLI reported no id, and for the default CLI, which always uses ID.
	CLIID string `json:"cli_id,omitempty" is:"session?"`
	// Model is the model with which the conversation began. It is empty if unknown.
	Model string `json:"model,omitempty"`
	// Chosen is set if a state requested a model in this conversation. A later state that names no
	// model must then request Model explicitly.
	Chosen bool `json:"chosen,omitempty"`
	// RunningTotal is the CLI's own total for the conversation after the last invocation.
	RunningTotal RunningTotal `json:"reached,omitzero"`
	// End is the length of the transcript in bytes after the last invocation. It is nil if unknown.
	End *int64 `json:"end,omitempty"`
}

// RunningTotal is the cost of a whole conversation so far, as an agent CLI reports it.
type RunningTotal struct {
	USD    USD         `json:"usd"`              // cost for all models
	Models []ModelCost `json:"models,omitempty"` // cost and tokens by model
}

// Frame is an entry of an agent's return stack, pushed by <call> and <function>.
type Frame struct {
	State   string   `json:"state" is:"file"`
	Session *Session `json:"session,omitempty"`
	// Branch is the value of Agent.Branch when the frame was pushed.
	Branch bool   `json:"branch,omitempty"`
	Dir    string `json:"dir,omitempty" is:"path?"`
}

// Phase is the phase of an attempt: either the agent CLI runs, or the done_when commands verify
// its work.
type Phase string

// The phases of an attempt.
const (
	PhaseAgent  Phase = "agent"
	PhaseVerify Phase = "verify"
)

// Exec is a state execution: one visit of an agent to a state. It consists of one or more
// attempts. Each attempt runs the agent CLI or script, perhaps with retries, and then the
// done_when commands. An invocation is one process of the agent CLI or script.
type Exec struct {
	// Iteration is the number of this execution within the run, from 1.
	Iteration int       `json:"iteration" is:"positive"`
	Attempt   int       `json:"attempt" is:"positive"` // from 1
	Phase     Phase     `json:"phase" is:"phase"`
	Started   time.Time `json:"started" is:"set"`
	// EntryLen is the length of the conversation's transcript when the execution began. After a
	// failure, the transcript is cut back to this length.
	EntryLen *int64 `json:"entry_len,omitempty"`
	// Session is the conversation of the current attempt. It is nil until the attempt has a conversation.
	Session *Session `json:"session,omitempty"`
	Retries int      `json:"retries,omitempty"` // number of retries in this attempt
	// Reminders counts the reminders in this attempt. Reminder is the text of the next one, if any.
	Reminders int    `json:"reminders,omitempty"`
	Reminder  string `json:"reminder,omitempty"`
	// Continue is set if the last invocation stopped at its cost or turn limit, so that the next
	// invocation continues its conversation.
	Continue bool `json:"continue,omitempty"`
	// Interrupted is the reason why the last invocation was interrupted. When the invocation is
	// repeated, Interrupted is cleared and WasInterrupted is set; prompts then mention it.
	Interrupted    string `json:"interrupted,omitempty"`
	WasInterrupted bool   `json:"noted,omitempty"`
	// Inherited is set if the execution began in the run from which this run was copied, and this
	// run has not yet emitted StateStarted for it.
	Inherited bool  `json:"inherited,omitempty"`
	Spent     Spent `json:"spent"`
	// Models contains the cost of each model. The sum may be less than Spent.
	Models map[string]USD `json:"models,omitempty"`
	// Tokens counts the tokens that all invocations are known to have used. It is nil if unknown.
	Tokens *Tokens `json:"tokens,omitempty"`
	Turns  int     `json:"turns,omitempty"`
	// Refusals are the tool calls that the agent CLI denied. Only the first ones have details.
	Refusals []Refusal `json:"denied,omitempty"`
	// AgentCLI describes the agent CLI that ran last: its version and its path.
	AgentCLI string `json:"agent_cli,omitempty"`
	// Running is the current invocation, if any. It is saved before the process starts.
	Running *Invocation `json:"running,omitempty"`
	// Cut is the length to which the transcript is cut before the next invocation, to undo the last
	// invocation. A nil Cut leaves the transcript unchanged.
	Cut *int64 `json:"cut,omitempty"`
	// AttemptStarted and AttemptSpent are the start and the cost of the current attempt.
	AttemptStarted time.Time `json:"attempt_started,omitzero"`
	AttemptSpent   Spent     `json:"attempt_spent"`
	// PendingMove is the requested move. It is made if the done_when commands pass. If it is nil,
	// MoveProblem is the reason why the message contained no allowed move.
	PendingMove *protocol.Decision `json:"asked,omitempty"`
	MoveProblem string             `json:"refused,omitempty"`
	// MoveReminder is the reminder to send if the commands pass but an allowed move is missing.
	// HasNoTag is set if the message contained no tag at all.
	MoveReminder string `json:"reask,omitempty"`
	HasNoTag     bool   `json:"untagged,omitempty"`
	// PassedResults are the results of the done_when commands if all passed in this attempt and only
	// an allowed move is missing.
	PassedResults []CommandResult `json:"passed,omitempty"`
	// LastingFailure is the reason why the agent CLI failed, if further attempts would fail in the same way.
	LastingFailure *AgentFailure `json:"lasting_failure,omitempty"`
	// AgentCode is the exit code of the agent CLI in this attempt.
	AgentCode int `json:"agent_code,omitempty" is:"signed"`
	// Verdict is the verdict on the last failed attempt.
	Verdict *NodeAttempt `json:"verdict,omitempty"`
	// Protected maps each protected file to its digest at the start of the execution.
	Protected map[string]string `json:"protected,omitempty"`
}

// Invocation is one process of an agent CLI or script that runs or is about to start.
type Invocation struct {
	N         int         `json:"n" is:"positive"` // number of the invocation within the run
	Mode      SessionMode `json:"mode,omitempty" is:"mode?"`
	SessionID string      `json:"session_id,omitempty"` // id of the conversation to which it writes
	From      string      `json:"from,omitempty"`       // id of the conversation that was copied
	// Backend is the agent CLI. If it is empty, it is protocol.DefaultBackend. CLIID and FromCLIID
	// are the CLI's own ids for SessionID and From. CLIID is saved as soon as the CLI reports it.
	Backend   string `json:"backend,omitempty" is:"backend?"`
	CLIID     string `json:"cli_id,omitempty" is:"session?"`
	FromCLIID string `json:"from_cli_id,omitempty" is:"session?"`
	Model     string `json:"model,omitempty"`  // the requested model
	Length    *int64 `json:"length,omitempty"` // length of the transcript before the invocation
	// Metered contains the tokens that the invocation has used so far, with one element for each
	// model. It is saved so that a crash does not lose the counts.
	Metered []Usage `json:"metered,omitempty"`
}

// AgentFailure is the reason why an agent can't continue until the run is resumed.
type AgentFailure struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// Ending is the result of an ended agent or, if Error is set, its failure.
type Ending struct {
	Agent  string `json:"agent" is:"agent"`
	Result Text   `json:"result"`
	// Error is the reason why the agent failed. It is set only if a join has delivered the failure.
	Error string `json:"error,omitempty"`
	// Parent is the agent that forked this agent, and N is this agent's Agent.N. For main, Parent is
	// empty and N is 0. Delivered is set if a join has delivered the result.
	Parent    string `json:"parent,omitempty" is:"agent?"`
	N         int    `json:"n,omitempty"`
	Delivered bool   `json:"delivered,omitempty"`
	// Dir is the absolute path of the agent's directory. It is recorded only in the run of a part,
	// because the part's files are merged later.
	Dir string `json:"dir,omitempty" is:"path?"`
}

// HasPrompted reports whether the run has executed a prompt.
func (r *Run) HasPrompted() bool {
	return slices.ContainsFunc(r.Used, func(file string) bool { return protocol.KindOf(file) == protocol.Prompt })
}

// Dirs returns the directories in which agents of the run work or to which they will return, and, if
// a comment may continue main's conversation, the one where main ended. The run's own directory
// comes first.
func (r *Run) Dirs() []string {
	dirs := []string{r.Dir}
	add := func(dir string) {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, e := range r.Ended {
		add(e.Dir)
	}
	for _, a := range r.Agents {
		add(a.Dir)
		for _, f := range a.Stack {
			add(f.Dir)
		}
	}
	if r.Last != nil {
		add(r.Last.Dir)
	}
	return dirs
}

// Duration is a time.Duration that is written as text in JSON, for example "15m0s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// Text is the output of an agent or a script, byte for byte. In JSON it is a string if it is valid UTF-8,
// and otherwise an object like {"base64": "…"}, so that no byte is lost.
type Text string

// encodedText is the JSON form of a Text that is not valid UTF-8.
type encodedText struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return Marshal(string(t))
	}
	return Marshal(encodedText{[]byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var raw encodedText
		err := json.Unmarshal(data, &raw)
		*t = Text(raw.Base64)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}
