package state

import (
	"reflect"
	"time"
)

// Event is one thing that happened in a run: an envelope and exactly one body. The owner of the run
// creates each event once and passes it to the log, the console and all other reporters. Events
// that belong to a change of the run are saved together with that change.
type Event struct {
	Seq   int       // 1, 2, 3 … within the run, across all resumes
	Time  time.Time // UTC, truncated to milliseconds
	Agent string    // "" when the event is about the whole run
	State string    // file name of the state; set with Agent
	// Exec is the number of the state execution that the event belongs to: executions are numbered
	// from 1 in the order in which they start, across all resumes. 0 if the event belongs to none.
	Exec int
	Body Body
}

// Body is the specific part of an event. Only the types of this package implement it.
type Body interface {
	// Type returns the name of the event in the log.
	Type() string
}

// RunStarted opens the log. Each resume adds another one.
type RunStarted struct {
	Scope       string `json:"scope"`        // absolute path of the workflow: a directory, archive or file; in a job, the name of a built-in workflow
	Entry       string `json:"entry"`        // file name of the first state; after a resume, of the state that continues
	Resumed     bool   `json:"resumed"`      // false when the run begins
	BudgetUSD   USD    `json:"budget_usd"`   // 0: no budget
	MaxParallel int    `json:"max_parallel"` // how many agents may execute at once

	RerunOf      string `json:"rerun_of,omitempty"`      // workflow id of the run from which this one was copied; absent for others
	RerunExec    int    `json:"rerun_exec,omitempty"`    // number of the first state execution that is run again
	InheritedUSD USD    `json:"inherited_usd,omitempty"` // cost of that run up to the copy; no other amount includes it
}

// StateStarted is emitted when a state execution begins.
type StateStarted struct {
	Kind      string      `json:"kind"`                 // "prompt" or "script"
	Attempt   int         `json:"attempt"`              // 1, unless a resume continues in a later attempt
	Session   SessionMode `json:"session,omitempty"`    // fresh, resume or branch: how the execution uses a conversation; prompts only
	SessionID string      `json:"session_id,omitempty"` // id of the conversation; prompts only
	Model     string      `json:"model,omitempty"`      // the requested model; absent if the agent CLI chooses
	Cwd       string      `json:"cwd"`                  // working directory, absolute; "" for a script with trusted=true, which gets an empty temporary one

	// Backend is the agent CLI, for traces; "" for scripts. The log does not contain it.
	Backend string `json:"-"`
}

// AgentOutput is a line of an agent's message or of a script's stderr, or the use of a tool. It is
// emitted with --verbose, and in the action. The action limits it to the first and last lines of
// each run of an agent CLI or script, 500 lines and 256 KiB in total, and reports how
// many were left out.
type AgentOutput struct {
	Text string `json:"text"` // redacted, at most 2,000 characters
}

// StateFinished is emitted when a state execution ends.
type StateFinished struct {
	OK         bool  `json:"ok"`          // the execution ended with an accepted transition
	DurationMS int64 `json:"duration_ms"` // time since it began, with waits, without the time between two jobs
	Spent
	Models     map[string]USD `json:"models,omitempty"`      // the part of the cost that is known by model; absent if unknown
	Tokens     *Tokens        `json:"tokens,omitempty"`      // tokens of all its invocations, as far as known; prompts only
	SessionID  string         `json:"session_id,omitempty"`  // id of the conversation; prompts only
	Turns      int            `json:"turns"`                 // turns of the model in all its invocations
	Denied     []string       `json:"denied"`                // tool uses that were refused; never null
	Refusals   []Refusal      `json:"refusals,omitempty"`    // the first of denied, each once, with details
	CLI        string         `json:"agent_cli,omitempty"`   // version and path of the agent CLI, after its name except for the default CLI; prompts only
	Error      string         `json:"error,omitempty"`       // why the execution failed
	ExitCode   *int           `json:"exit_code,omitempty"`   // exit code of the last invocation; -1 if a signal ended it, or it never started
	Signal     string         `json:"signal,omitempty"`      // the signal that ended it, for example "SIGKILL"; absent if it exited
	StdoutTail string         `json:"stdout_tail,omitempty"` // of a script that failed: the last 4096 bytes of its stdout
	StderrTail string         `json:"stderr_tail,omitempty"` // of a script that failed: the last 4096 bytes of its stderr

	// Attempt is the number of the last attempt, for the debug folder. The log does not contain it.
	Attempt int `json:"-"`
}

// Tokens is the token use of a state execution, summed over all models.
type Tokens struct {
	Input  int64 `json:"input"`  // input tokens that were not read from the cache, including those written to it
	Cached int64 `json:"cached"` // input tokens read from the cache
	Output int64 `json:"output"` // output tokens
}

// Reminder is emitted when an answer is refused and the agent gets another turn.
type Reminder struct {
	N      int    `json:"n"`      // number of the reminder in this attempt, from 1
	Reason string `json:"reason"` // why the answer was refused
}

// Retry is emitted when an invocation failed and will be tried again.
type Retry struct {
	N         int    `json:"n"`          // number of the retry in this attempt, from 1
	Error     string `json:"error"`      // what went wrong
	BackoffMS int64  `json:"backoff_ms"` // the wait before the retry
	// Service is set if the model's service failed. n then counts its failures in a row, and
	// they don't count as retries.
	Service bool `json:"service,omitempty"`
}

// Transition is emitted when an agent moves as its tag requests.
type Transition struct {
	Tag    string `json:"tag"`              // name of the tag
	Target string `json:"target"`           // the next state; for a result, the state it returns to; "" if the agent ends
	From   string `json:"from"`             // the state that the agent leaves
	Return string `json:"return,omitempty"` // for a call or function: the state to return to
	Next   string `json:"next,omitempty"`   // for a fork: where this agent continues
}

// AgentStarted is emitted when a new agent begins.
type AgentStarted struct {
	Parent string            `json:"parent,omitempty"` // the agent that forked it; absent for the first agent
	Vars   map[string]string `json:"vars"`             // the variables of its fork tag; never null
}

// AgentFinished is emitted when an agent ends with a result, or fails.
type AgentFinished struct {
	Result *Text  `json:"result,omitempty"` // absent if it failed
	Error  string `json:"error,omitempty"`  // why it failed
}

// NodeAttempt is the verdict on one attempt of a state with done_when.
type NodeAttempt struct {
	Attempt   int      `json:"attempt"`             // number of the attempt, from 1
	DurationS float64  `json:"duration_s"`          // duration of the agent run and the commands
	Converged bool     `json:"converged"`           // the state is done
	BackoffS  *float64 `json:"backoff_s,omitempty"` // the wait before the attempt; absent for the first
	Reason    string   `json:"reason,omitempty"`    // why it did not converge
	Protected []string `json:"protected,omitempty"` // protected files that the attempt changed; they were restored
	Spent
	Results []CommandResult `json:"done_when_results"` // one for each command, in order; never null
}

// CommandResult is how one done_when command ended.
type CommandResult struct {
	Cmd       string  `json:"cmd"`                 // the command
	RC        int     `json:"rc" is:"signed"`      // exit code; 124 timed out, 127 not found, 128+n signal n
	DurationS float64 `json:"duration_s"`          // how long the command took
	Tail      string  `json:"tail,omitempty"`      // the last 4096 bytes of its output, if rc is not zero
	Truncated bool    `json:"truncated,omitempty"` // the output was longer than the tail
}

// AttemptInterrupted is emitted before an execution that was cut off runs again.
type AttemptInterrupted struct {
	Attempt   int    `json:"attempt"`                  // number of the attempt that is repeated
	Reason    string `json:"reason"`                   // why it was cut off
	CostUSD   USD    `json:"cost_usd"`                 // cost of the attempt so far
	Estimated bool   `json:"cost_estimated,omitempty"` // part of cost_usd is an estimate
}

// Checkpoint is emitted when the run was stored outside this machine, or could not be stored.
type Checkpoint struct {
	Store      string `json:"store"`           // name of the store
	SeqStored  int    `json:"seq_stored"`      // the step up to which the run is stored
	Bytes      int64  `json:"bytes"`           // number of bytes sent
	DurationMS int64  `json:"duration_ms"`     // how long it took
	Error      string `json:"error,omitempty"` // why it was not stored
}

// Limit is emitted when a limit of the run is reached, or nearly reached. Value and Max are US
// dollars for "budget", "budget-per-key" and "budget-per-day", seconds for "deadline", 0 for
// "usage", and counts for the others.
type Limit struct {
	Which     string  `json:"which"`                    // "budget", "budget-per-key", "budget-per-day", "iterations", "agents", "depth", "deadline", "usage"
	Value     float64 `json:"value"`                    // the present value
	Max       float64 `json:"max"`                      // the limit
	Estimated bool    `json:"cost_estimated,omitempty"` // part of a budget's value is an estimate
	Unknown   int     `json:"cost_unknown,omitempty"`   // invocations that a budget's value leaves out because their cost is unknown
	Unpriced  int64   `json:"cost_unpriced,omitempty"`  // tokens that a budget's value leaves out because their model has no price
}

// Spent returns the value of a budget.
func (l *Limit) Spent() Spent {
	return Spent{USD: usd(l.Value * float64(Dollar)), Estimated: l.Estimated, Unknown: l.Unknown, Unpriced: l.Unpriced}
}

// RunFinished closes the log. A run that is resumed later has several.
type RunFinished struct {
	Status  Status `json:"status"`           // status of the run; never running
	Outcome string `json:"outcome"`          // the status; for a completed run "clean" or "clean_with_flake"
	Detail  string `json:"detail,omitempty"` // for a failed run: "partial" if some agents ended with a result, else "catastrophic"
	Reason  string `json:"reason,omitempty"` // why the run is not completed
	Spent
	InheritedUSD USD          `json:"inherited_usd,omitempty"` // cost of the run from which this one was copied, up to the copy; not in cost_usd
	Unfinished   []Unfinished `json:"unfinished,omitempty"`    // cost so far of state executions that a resume continues
	Iterations   int          `json:"iterations"`              // state executions started
	FlakeRetries int          `json:"flake_retries"`           // state executions that needed more than one attempt
	Result       *Text        `json:"result,omitempty"`        // result of the first agent; absent before it has ended
	DurationMS   int64        `json:"duration_ms"`             // time since this process began to drive the run
}

// Unfinished is the cost of a state execution that was still open when the run ended. A later
// state_finished of this execution includes it.
type Unfinished struct {
	Agent string `json:"agent"` // the agent in the state
	State string `json:"state"` // file name of the state
	Spent
	Models map[string]USD `json:"models,omitempty"` // the part of cost_usd that is known by model
}

// Type implements Body.
func (*RunStarted) Type() string { return "run_started" }

// Type implements Body.
func (*StateStarted) Type() string { return "state_started" }

// Type implements Body.
func (*AgentOutput) Type() string { return "agent_output" }

// Type implements Body.
func (*StateFinished) Type() string { return "state_finished" }

// Type implements Body.
func (*Reminder) Type() string { return "reminder" }

// Type implements Body.
func (*Retry) Type() string { return "retry" }

// Type implements Body.
func (*Transition) Type() string { return "transition" }

// Type implements Body.
func (*AgentStarted) Type() string { return "agent_started" }

// Type implements Body.
func (*AgentFinished) Type() string { return "agent_finished" }

// Type implements Body.
func (*NodeAttempt) Type() string { return "node_attempt" }

// Type implements Body.
func (*AttemptInterrupted) Type() string { return "attempt_interrupted" }

// Type implements Body.
func (*Checkpoint) Type() string { return "checkpoint" }

// Type implements Body.
func (*Limit) Type() string { return "limit" }

// Type implements Body.
func (*RunFinished) Type() string { return "run_finished" }

// bodies has the type of each body, by the name of the event.
var bodies = func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, b := range []Body{
		(*RunStarted)(nil), (*StateStarted)(nil), (*AgentOutput)(nil), (*StateFinished)(nil), (*Reminder)(nil), (*Retry)(nil),
		(*Transition)(nil), (*AgentStarted)(nil), (*AgentFinished)(nil), (*NodeAttempt)(nil), (*AttemptInterrupted)(nil),
		(*Checkpoint)(nil), (*Limit)(nil), (*RunFinished)(nil), (*AgentWaits)(nil), (*AgentGoesOn)(nil),
	} {
		types[b.Type()] = reflect.TypeOf(b).Elem()
	}
	return types
}()
