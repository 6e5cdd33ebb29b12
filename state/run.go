package state

import (
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// Schema is the version of the state file that this program writes.
const Schema = 1

// Status is how a run stands.
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

// SessionMode says how an invocation relates to a conversation.
type SessionMode string

// The session modes.
const (
	Fresh  SessionMode = "fresh"
	Resume SessionMode = "resume"
	Branch SessionMode = "branch"
)

// Run is the whole of a run: what the state file holds.
type Run struct {
	Schema     int       `json:"schema"`
	WorkflowID string    `json:"workflow_id"`
	Created    time.Time `json:"created"`
	// Mark is random; everything the run starts carries it in its environment.
	Mark string `json:"mark"`
	// Scope is the absolute path the workflow was started from: a directory, a
	// zip archive, or one state file.
	Scope string `json:"scope"`
	Entry string `json:"entry"`
	// Dir is the orchestrator's directory, absolute: where agents without a
	// directory of their own work.
	Dir string `json:"dir"`
	// Files has the SHA-256 of every state file when the run started, in hex.
	Files   map[string]string `json:"files"`
	Meta    map[string]string `json:"meta,omitempty"`
	Options Options           `json:"options"`
	// Used names the states that have been started, in order of first use.
	Used []string `json:"used,omitempty"`

	Progress Progress `json:"progress"`
	Agents   []*Agent `json:"agents"`          // in order of creation; ended ones are gone
	Ended    []Ending `json:"ended,omitempty"` // in order of ending
	Ledger   []Entry  `json:"ledger,omitempty"`
	Events   []Event  `json:"events"` // those of the last save

	byID map[string]*Agent
}

// Options are what the run was started with; flags of a resume override them.
type Options struct {
	BudgetUSD       USD      `json:"budget_usd"` // 0: none
	MaxIterations   int      `json:"max_iterations,omitempty"`
	MaxParallel     int      `json:"max_parallel"`
	MaxAgents       int      `json:"max_agents"`
	MaxDepth        int      `json:"max_depth"`
	MaxRetries      int      `json:"max_retries"`
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
}

// Progress is the part of a run that nearly every step changes. A Delta replaces
// it whole.
type Progress struct {
	Seq        int       `json:"seq"`    // steps committed so far
	Events     int       `json:"events"` // seq of the last event
	Status     Status    `json:"status"`
	Reason     string    `json:"reason,omitempty"` // why it is not running
	Until      time.Time `json:"until,omitzero"`   // Suspended: when to resume
	Started    time.Time `json:"started"`          // of this part of the run
	Iterations int       `json:"iterations"`       // state executions begun
	Turn       int       `json:"turn"`             // number of the agent that had the last free slot
	Created    int       `json:"created"`          // agents created
	Launches   int       `json:"launches"`         // invocations begun
	Flakes     int       `json:"flake_retries"`
	Unknown    int       `json:"unknown_in_a_row"`    // ledger entries at the end that are unknown
	TotalUSD   USD       `json:"total_usd"`           // sum of the ledger
	Exhausted  bool      `json:"exhausted,omitempty"` // an agent CLI ended at its own cap
	Warned     bool      `json:"warned,omitempty"`    // 80 % of the budget was told
	Hold       string    `json:"hold,omitempty"`      // why nothing new starts until a resume
}

// AgentStatus says what an agent waits for.
type AgentStatus string

// The statuses of an agent.
const (
	Ready   AgentStatus = "ready"   // to be run, or for NotBefore
	Busy    AgentStatus = "running" // an invocation is under way
	Stuck   AgentStatus = "failed"  // until somebody resumes the run
	removed AgentStatus = ""        // ended; dropped when the step is applied
)

// Agent is one thread of a run.
type Agent struct {
	ID     string      `json:"id"`
	N      int         `json:"n"` // order of creation, from 1
	Parent string      `json:"parent,omitempty"`
	State  string      `json:"state"` // resolved file name
	Status AgentStatus `json:"status"`
	// Dir is where the agent works, absolute; "" for the orchestrator's.
	Dir string `json:"dir,omitempty"`
	// Session is the conversation that a goto resumes. While a state runs it
	// stays what it was on entry.
	Session *Session `json:"session,omitempty"`
	// Branch asks for a branch of Session at the next state: the agent was called.
	Branch  bool    `json:"branch,omitempty"`
	Model   string  `json:"model,omitempty"` // of a function tag, for the next state
	Stack   []Frame `json:"stack,omitempty"`
	Payload Text    `json:"payload,omitempty"`
	// Failure is what a state that gave up hands to the one after it.
	Failure Text              `json:"failure,omitempty"`
	Vars    map[string]string `json:"vars,omitempty"`
	Forks   int               `json:"forks,omitempty"` // agents forked so far
	// Cut is the length to cut the transcript of Session back to before the next
	// state starts: what a failed execution said in it.
	Cut *int64 `json:"cut,omitempty"`
	// Exec is the state execution under way, or the one that failed.
	Exec *Exec `json:"exec,omitempty"`
	// NotBefore ends a wait; Wait is how long the whole of it is, so that a
	// changed clock can't make it longer.
	NotBefore time.Time `json:"not_before,omitzero"`
	Wait      Duration  `json:"wait,omitempty"`
	Fault     *Fault    `json:"fault,omitempty"`
}

// Session is a conversation of the agent CLI.
type Session struct {
	ID string `json:"id"`
	// Model is the one the conversation began with, "" when unknown.
	Model string `json:"model,omitempty"`
	// Chosen says that some state picked a model for it, so that states without
	// one must ask for Model again.
	Chosen bool `json:"chosen,omitempty"`
}

// Frame is where a call or function returns to.
type Frame struct {
	State   string   `json:"state"`
	Session *Session `json:"session,omitempty"`
	// Branch says that the caller had not yet branched off Session itself.
	Branch bool   `json:"branch,omitempty"`
	Dir    string `json:"dir,omitempty"`
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
	Iteration int       `json:"iteration"`
	Attempt   int       `json:"attempt"` // from 1
	Phase     Phase     `json:"phase"`
	Started   time.Time `json:"started"`
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
	// Continue says that the last invocation ran out of budget or turns and that
	// its session goes on where it stopped.
	Continue bool `json:"continue,omitempty"`
	// Interrupted says why the last invocation was cut off, until it is repeated;
	// Noted, that the agent is told so from then on.
	Interrupted string `json:"interrupted,omitempty"`
	Noted       bool   `json:"noted,omitempty"`
	CostUSD     USD    `json:"cost_usd,omitempty"`
	// Models is what of CostUSD is known by model.
	Models map[string]USD `json:"by_model,omitempty"`
	Turns  int            `json:"turns,omitempty"`
	Denied []string       `json:"denied,omitempty"`
	// Running is the invocation under way. It is saved before the process starts.
	Running *Invocation `json:"running,omitempty"`
	// Cut is the length to cut the resumed transcript to before the next
	// invocation, when the last one must be undone.
	Cut *int64 `json:"cut,omitempty"`
	// AttemptStarted and AttemptUSD are of the attempt under way.
	AttemptStarted time.Time `json:"attempt_started,omitzero"`
	AttemptUSD     USD       `json:"attempt_usd,omitempty"`
	// Asked is the move that waits for the verdict; Refused, why there is none.
	Asked   *protocol.Decision `json:"asked,omitempty"`
	Refused string             `json:"refused,omitempty"`
	// AgentCode is the exit code of the attempt's agent run.
	AgentCode int `json:"agent_code,omitempty"`
	// Verdict is that of the last failed attempt.
	Verdict *NodeAttempt `json:"verdict,omitempty"`
	// Protected has a digest of each protected file when the execution began.
	Protected map[string]string `json:"protected,omitempty"`
}

// Invocation is one process that was, or is about to be, started.
type Invocation struct {
	N         int         `json:"n"` // counts the invocations of the run
	Mode      SessionMode `json:"mode,omitempty"`
	SessionID string      `json:"session_id,omitempty"` // used by it
	From      string      `json:"from,omitempty"`       // branched from
	Model     string      `json:"model,omitempty"`      // asked for
	Length    *int64      `json:"length,omitempty"`     // of the transcript before it
}

// Fault is why an agent can't go on.
type Fault struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// Ending is what became of an agent that ended.
type Ending struct {
	Agent  string `json:"agent"`
	Result Text   `json:"result"`
}

// Usage counts tokens of one model.
type Usage struct {
	Model      string `json:"model,omitempty"`
	Input      int64  `json:"input,omitempty"`
	Output     int64  `json:"output,omitempty"`
	CacheWrite int64  `json:"cache_write,omitempty"`
	CacheRead  int64  `json:"cache_read,omitempty"`
}

// CostKind says how well a cost is known.
type CostKind string

// The kinds of cost.
const (
	Exact     CostKind = "exact"
	Estimated CostKind = "estimated"
	Unknown   CostKind = "unknown"
)

// Cost is what one process reported that it cost. The zero Cost means that it
// reported nothing.
type Cost struct {
	Kind CostKind
	USD  USD
	// Usage has what the process used, by model.
	Usage []ModelCost
}

// ModelCost is one model's share of a cost.
type ModelCost struct {
	Usage
	CostUSD USD `json:"cost_usd,omitempty"`
}

// Entry is the cost of one agent process.
type Entry struct {
	N       int         `json:"n"` // the invocation
	Agent   string      `json:"agent"`
	State   string      `json:"state"`
	Session string      `json:"session,omitempty"`
	Kind    CostKind    `json:"kind"`
	CostUSD USD         `json:"cost_usd"`
	Models  []ModelCost `json:"models,omitempty"`
}

// Duration is a time.Duration whose JSON form is Go's text, as in "15m0s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
