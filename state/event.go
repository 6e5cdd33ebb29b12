package state

import (
	"reflect"
	"time"
)

// Event describes one thing that happened in a run. It has general fields and exactly one body. The
// owner of the run creates each event once and passes it to the log, the console and all other
// reporters. Events that belong to a change of the run are saved together with that change.
type Event struct {
	Seq   int       // number of the event in the run, from 1; resumes continue the count
	Time  time.Time // UTC, truncated to milliseconds
	Agent string    // name of the agent; empty if the event is about the whole run
	State string    // file name of the agent's state; empty if Agent is empty
	// Exec is the number of the event's state execution, or 0 if the event belongs to no execution.
	// Executions are numbered from 1 in the order in which they start. Resumes continue the count.
	Exec int
	Body Body
}

// Body contains the fields that are specific to one type of event. Only this package implements it.
type Body interface {
	// Type returns the name of the event in the log.
	Type() string
}

// RunStarted is emitted when a run begins, and again by each resume. The log begins with this event.
type RunStarted struct {
	Scope       string `json:"scope"`        // absolute path of the workflow: a directory, archive or file; in a job, the name of a built-in workflow
	Entry       string `json:"entry"`        // file name of the first state; after a resume, file name of a state that continues
	Resumed     bool   `json:"resumed"`      // true after a resume, false at the beginning of the run
	BudgetUSD   USD    `json:"budget_usd"`   // 0 means no budget
	MaxParallel int    `json:"max_parallel"` // maximum number of agents that execute at the same time

	RerunOf      string `json:"rerun_of,omitempty"`      // id of the run from which this run was copied; absent if it is not a copy
	RerunExec    int    `json:"rerun_exec,omitempty"`    // number of the first state execution that is run again
	InheritedUSD USD    `json:"inherited_usd,omitempty"` // cost of the copied run up to the copy; no other amount includes it
}

// StateStarted is emitted when a state execution begins.
type StateStarted struct {
	Kind      string      `json:"kind"`                 // "prompt" or "script"
	Attempt   int         `json:"attempt"`              // 1, unless a resume continues in a later attempt
	Session   SessionMode `json:"session,omitempty"`    // how the execution uses a conversation: fresh, resume or branch; prompts only
	SessionID string      `json:"session_id,omitempty"` // id of the conversation; prompts only
	Model     string      `json:"model,omitempty"`      // the requested model; absent if the agent CLI chooses
	Cwd       string      `json:"cwd"`                  // absolute path of the working directory; "" for a script with trusted=true, which runs in an empty temporary directory

	// Backend is the agent CLI, which traces show. It is "" for scripts. The log does not contain it.
	Backend string `json:"-"`
}

// AgentOutput is a line of an agent's message, a line of a script's stderr, or a tool call. It is
// emitted with --verbose, and always in the action. For each run of an agent CLI or script, the
// action emits only the first and last lines, in total 500 lines and 256 KiB, and reports how many
// lines it left out.
type AgentOutput struct {
	Text string `json:"text"` // redacted, at most 2,000 characters
}

// StateFinished is emitted when a state execution ends.
type StateFinished struct {
	OK         bool  `json:"ok"`          // whether the execution ended with an accepted transition
	DurationMS int64 `json:"duration_ms"` // time since the execution began, with waits, but without the time between two jobs
	Spent
	Models     map[string]USD `json:"models,omitempty"`      // cost of each model, which may add up to less than cost_usd; absent if unknown
	Tokens     *Tokens        `json:"tokens,omitempty"`      // tokens that its invocations are known to have used; prompts only
	SessionID  string         `json:"session_id,omitempty"`  // id of the conversation; prompts only
	Turns      int            `json:"turns"`                 // number of model turns in all its invocations
	Denied     []string       `json:"denied"`                // tool calls that the agent CLI denied; never null
	Refusals   []Refusal      `json:"refusals,omitempty"`    // details of the first denied tool calls, each once
	CLI        string         `json:"agent_cli,omitempty"`   // version and path of the agent CLI, after its name unless the default CLI ran; prompts only
	Error      string         `json:"error,omitempty"`       // why the execution failed
	ExitCode   *int           `json:"exit_code,omitempty"`   // exit code of the last invocation; -1 if a signal ended it, or if it never started
	Signal     string         `json:"signal,omitempty"`      // the signal that ended the last invocation, for example "SIGKILL"; absent if it exited
	StdoutTail string         `json:"stdout_tail,omitempty"` // last 4096 bytes of stdout; only for a script that failed
	StderrTail string         `json:"stderr_tail,omitempty"` // last 4096 bytes of stderr; only for a script that failed

	// Attempt is the number of the last attempt. The debug folder uses it; the log does not contain it.
	Attempt int `json:"-"`
}

// Tokens counts the tokens that a state execution used, summed over all models.
type Tokens struct {
	Input  int64 `json:"input"`  // input tokens that were not read from the cache, including tokens written to it
	Cached int64 `json:"cached"` // input tokens read from the cache
	Output int64 `json:"output"` // output tokens
}

// Reminder is emitted when an agent's message is rejected and the agent gets another turn.
type Reminder struct {
	N      int    `json:"n"`      // number of the reminder in this attempt, from 1
	Reason string `json:"reason"` // why the message was rejected
}

// Retry is emitted when an invocation has failed and will be tried again.
type Retry struct {
	N         int    `json:"n"`          // number of the retry in this attempt, from 1
	Error     string `json:"error"`      // what went wrong
	BackoffMS int64  `json:"backoff_ms"` // wait before the retry, in milliseconds
	// Service is set if the model's service failed. N then counts the service's consecutive failures,
	// which don't count as retries.
	Service bool `json:"service,omitempty"`
}

// Transition is emitted when an agent makes the move that its tag requests.
type Transition struct {
	Tag    string `json:"tag"`              // name of the tag
	Target string `json:"target"`           // the next state; for a result, the state to return to; "" if the agent ends
	From   string `json:"from"`             // the state that the agent leaves
	Return string `json:"return,omitempty"` // for a call or function: the state to return to
	Next   string `json:"next,omitempty"`   // for a fork: the state in which the forking agent continues
}

// AgentStarted is emitted when a new agent begins.
type AgentStarted struct {
	Parent string            `json:"parent,omitempty"` // the agent that forked it; absent for the first agent
	Vars   map[string]string `json:"vars"`             // variables from the fork tag; never null
}

// AgentFinished is emitted when an agent ends with a result, or fails.
type AgentFinished struct {
	Result *Text  `json:"result,omitempty"` // the result; absent if the agent failed
	Error  string `json:"error,omitempty"`  // why the agent failed
}

// NodeAttempt is the verdict on one attempt of a state with done_when.
type NodeAttempt struct {
	Attempt   int      `json:"attempt"`             // number of the attempt, from 1
	DurationS float64  `json:"duration_s"`          // duration of the agent's run and the commands, in seconds
	Converged bool     `json:"converged"`           // whether the state is done
	BackoffS  *float64 `json:"backoff_s,omitempty"` // wait before the attempt, in seconds; absent for the first attempt
	Reason    string   `json:"reason,omitempty"`    // why the state is not done
	Protected []string `json:"protected,omitempty"` // protected files that the attempt changed; they were restored if possible
	Spent
	Results []CommandResult `json:"done_when_results"` // one for each command, in order; never null
}

// CommandResult describes how one done_when command ended.
type CommandResult struct {
	Cmd       string  `json:"cmd"`                 // the command
	RC        int     `json:"rc" is:"signed"`      // exit code; 124 means timed out, 127 not found, and 128+n that signal n ended the command
	DurationS float64 `json:"duration_s"`          // duration of the command in seconds
	Tail      string  `json:"tail,omitempty"`      // last 4096 bytes of the output; only if rc is not 0
	Truncated bool    `json:"truncated,omitempty"` // whether the output was longer than tail
}

// AttemptInterrupted is emitted before an execution that was interrupted runs again.
type AttemptInterrupted struct {
	Attempt   int    `json:"attempt"`                  // number of the attempt that is repeated
	Reason    string `json:"reason"`                   // why the attempt was interrupted
	CostUSD   USD    `json:"cost_usd"`                 // cost of the attempt so far
	Estimated bool   `json:"cost_estimated,omitempty"` // whether part of cost_usd is an estimate
}

// Checkpoint is emitted when the run was stored outside this machine, or could not be stored.
type Checkpoint struct {
	Store      string `json:"store"`           // name of the store
	SeqStored  int    `json:"seq_stored"`      // the step up to which the run is stored
	Bytes      int64  `json:"bytes"`           // number of bytes sent
	DurationMS int64  `json:"duration_ms"`     // duration of the attempt to store the run
	Error      string `json:"error,omitempty"` // why the run was not stored
}

// Limit is emitted when a limit of the run is reached, or nearly reached. Value and Max are in US
// dollars for "budget", "budget-per-key" and "budget-per-day", and in seconds for "deadline". They
// are 0 for "usage". For the other limits, they are counts.
type Limit struct {
	Which     string  `json:"which"`                    // "budget", "budget-per-key", "budget-per-day", "iterations", "agents", "depth", "deadline", "usage"
	Value     float64 `json:"value"`                    // the current value
	Max       float64 `json:"max"`                      // the limit
	Estimated bool    `json:"cost_estimated,omitempty"` // whether part of a budget's value is an estimate
	Unknown   int     `json:"cost_unknown,omitempty"`   // number of invocations that a budget's value leaves out because their cost is unknown
	Unpriced  int64   `json:"cost_unpriced,omitempty"`  // number of tokens that a budget's value leaves out because their model has no price
}

// Spent returns the value of a limit on cost, with its estimated and unknown parts.
func (l *Limit) Spent() Spent {
	return Spent{USD: usd(l.Value * float64(Dollar)), Estimated: l.Estimated, Unknown: l.Unknown, Unpriced: l.Unpriced}
}

// RunFinished is emitted when a run ends or is suspended. A run that was resumed has several.
type RunFinished struct {
	Status  Status `json:"status"`           // status of the run; never running
	Outcome string `json:"outcome"`          // "clean" or "clean_with_flake" for a completed run, otherwise the status
	Detail  string `json:"detail,omitempty"` // for a failed run: "partial" if some agents ended with a result, otherwise "catastrophic"
	Reason  string `json:"reason,omitempty"` // why the run did not complete
	Spent
	InheritedUSD USD          `json:"inherited_usd,omitempty"` // cost of the run from which this run was copied, up to the copy; cost_usd does not include it
	Unfinished   []Unfinished `json:"unfinished,omitempty"`    // cost so far of the state executions that a resume will continue
	Iterations   int          `json:"iterations"`              // number of state executions that the run has started
	FlakeRetries int          `json:"flake_retries"`           // number of state executions that needed more than one attempt
	Result       *Text        `json:"result,omitempty"`        // result of the first agent; absent if that agent has not ended
	DurationMS   int64        `json:"duration_ms"`             // time since this process began to drive the run
}

// Unfinished is the cost of a state execution that had not finished when the run ended or was
// suspended. The event state_finished of this execution, if it comes later, includes this cost.
type Unfinished struct {
	Agent string `json:"agent"` // name of the agent
	State string `json:"state"` // file name of the state
	Spent
	Models map[string]USD `json:"models,omitempty"` // cost of each model, which may add up to less than cost_usd
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

// bodies maps the name of each event to the type of its body.
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
