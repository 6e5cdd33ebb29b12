package state

import (
	"reflect"
	"time"
)

// Event is one thing that happened in a run: an envelope and exactly one body.
// The owner of the run makes each event once; the log, the console and every
// other reporter are fed by it. Events that belong to a change of the run are
// saved together with that change.
type Event struct {
	Seq   int       // 1, 2, 3 … within the run, over all resumes
	Time  time.Time // UTC, cut to milliseconds
	Agent string    // "" when the event is about the whole run
	State string    // resolved file name; set with Agent
	// Exec is the number of the state execution that the event belongs to: they are numbered
	// from 1 in the order in which they start, over all resumes. 0 for an event that belongs
	// to none.
	Exec int
	Body Body
}

// Body is what happened. The types of this file are its only implementations.
type Body interface {
	// Type returns the name of the event in the log.
	Type() string
}

// RunStarted opens the log, and each resume.
type RunStarted struct {
	Scope       string `json:"scope"`        // absolute path of the directory, archive or file; of a workflow that comes with the action, its name in a job
	Entry       string `json:"entry"`        // file name of the state that it begins with; of a resume, that it continues with
	Resumed     bool   `json:"resumed"`      // false when the run begins
	BudgetUSD   USD    `json:"budget_usd"`   // 0: none
	MaxParallel int    `json:"max_parallel"` // agents that execute at once

	RerunOf      string `json:"rerun_of,omitempty"`      // workflow id of the run of which this one began as a copy; absent for others
	RerunExec    int    `json:"rerun_exec,omitempty"`    // the first state execution that is run again
	InheritedUSD USD    `json:"inherited_usd,omitempty"` // what that run had cost by then, which is in no other amount
}

// StateStarted says that a state execution begins.
type StateStarted struct {
	Kind      string      `json:"kind"`                 // "prompt" or "script"
	Attempt   int         `json:"attempt"`              // 1, unless a resume continues in a later one
	Session   SessionMode `json:"session,omitempty"`    // how it relates to a conversation; prompts only
	SessionID string      `json:"session_id,omitempty"` // of that conversation; prompts only
	Model     string      `json:"model,omitempty"`      // that is asked for; absent when none is
	Cwd       string      `json:"cwd"`                  // the directory it works in, absolute; "" for a script with trusted=true, which has an empty one of its own

	// Backend is in no log: it is the agent CLI, for traces; "" for scripts.
	Backend string `json:"-"`
}

// AgentOutput is a line of what an agent said or a script wrote to stderr, or a
// tool that was used. It is told with --verbose, and in the Action: there at most
// 500 lines and 256 KiB of each run of the agent CLI or script, the first and the last ones, with
// a line on those left out.
type AgentOutput struct {
	Text string `json:"text"` // redacted, at most 2,000 characters
}

// StateFinished says how a state execution ended.
type StateFinished struct {
	OK         bool  `json:"ok"`          // it ended in an accepted transition
	DurationMS int64 `json:"duration_ms"` // since it began, waits included, the time between two jobs not
	Spent
	Models     map[string]USD `json:"models,omitempty"`      // what of it is known by model; absent when nothing is
	Tokens     *Tokens        `json:"tokens,omitempty"`      // of all its invocations, as far as they are known; prompts only
	SessionID  string         `json:"session_id,omitempty"`  // prompts only
	Turns      int            `json:"turns"`                 // of the model, in all its invocations
	Denied     []string       `json:"denied"`                // tool uses that were refused; never null
	Refusals   []Refusal      `json:"refusals,omitempty"`    // the first of denied, each once, with what is known about it
	CLI        string         `json:"agent_cli,omitempty"`   // version and path of the agent CLI, after its name unless it is the default one; prompts only
	Error      string         `json:"error,omitempty"`       // why it is not ok
	ExitCode   *int           `json:"exit_code,omitempty"`   // of the last invocation; -1 when a signal ended it, or it never started
	Signal     string         `json:"signal,omitempty"`      // that ended it, as in "SIGKILL"; absent when it exited
	StdoutTail string         `json:"stdout_tail,omitempty"` // of a script that failed: the last 4096 bytes of its stdout
	StderrTail string         `json:"stderr_tail,omitempty"` // of a script that failed: the last 4096 bytes of its stderr

	// Attempt is in no log: it is for the debug folder.
	Attempt int `json:"-"`
}

// Tokens is what a state execution used of all models.
type Tokens struct {
	Input  int64 `json:"input"`  // that did not come from the cache, with what was written to it
	Cached int64 `json:"cached"` // read from the cache
	Output int64 `json:"output"` // the tokens of the model's answers
}

// Reminder says that an answer was refused and the agent is asked again.
type Reminder struct {
	N      int    `json:"n"`      // of this attempt, from 1
	Reason string `json:"reason"` // what was wrong with the answer
}

// Retry says that an invocation failed and will be tried again.
type Retry struct {
	N         int    `json:"n"`          // of this attempt, from 1
	Error     string `json:"error"`      // what went wrong
	BackoffMS int64  `json:"backoff_ms"` // the wait before it is tried again
	// Service says that the model's service failed: n counts its failures in a row,
	// and none of them is counted as a retry.
	Service bool `json:"service,omitempty"`
}

// Transition says that an agent moves on, as its tag said.
type Transition struct {
	Tag    string `json:"tag"`              // its name
	Target string `json:"target"`           // the state that comes next; of a result, where it returns to; "" when it ends the agent
	From   string `json:"from"`             // the state that is left
	Return string `json:"return,omitempty"` // of a call and a function
	Next   string `json:"next,omitempty"`   // of a fork: where this agent continues
}

// AgentStarted says that a new agent exists.
type AgentStarted struct {
	Parent string            `json:"parent,omitempty"` // the agent that forked it; absent for the first
	Vars   map[string]string `json:"vars"`             // the variables of its fork tag; never null
}

// AgentFinished says that an agent ended with a result, or failed.
type AgentFinished struct {
	Result *Text  `json:"result,omitempty"` // absent when it failed
	Error  string `json:"error,omitempty"`  // why it failed
}

// NodeAttempt is the verdict on one attempt of a state with done_when.
type NodeAttempt struct {
	Attempt   int      `json:"attempt"`             // from 1
	DurationS float64  `json:"duration_s"`          // of the agent run and the commands
	Converged bool     `json:"converged"`           // the state is done
	BackoffS  *float64 `json:"backoff_s,omitempty"` // the wait before the attempt; absent for the first
	Reason    string   `json:"reason,omitempty"`    // why it did not converge
	Protected []string `json:"protected,omitempty"` // protected files that it had changed; they are as they were again
	Spent
	Results []CommandResult `json:"done_when_results"` // of each command, in order; never null
}

// CommandResult is how one done_when command ended.
type CommandResult struct {
	Cmd       string  `json:"cmd"`                 // the command
	RC        int     `json:"rc" is:"signed"`      // its exit code; 124 timed out, 127 not found, 128+n signal n
	DurationS float64 `json:"duration_s"`          // how long it took
	Tail      string  `json:"tail,omitempty"`      // the last 4096 bytes of its output; only for a non-zero rc
	Truncated bool    `json:"truncated,omitempty"` // there was more output than the tail
}

// AttemptInterrupted comes before the re-run of an execution that was cut off.
type AttemptInterrupted struct {
	Attempt   int    `json:"attempt"`                  // that is repeated
	Reason    string `json:"reason"`                   // why it was cut off
	CostUSD   USD    `json:"cost_usd"`                 // of the attempt so far
	Estimated bool   `json:"cost_estimated,omitempty"` // part of cost_usd is an estimate
}

// Checkpoint says that the run was stored away from this machine, or was not.
type Checkpoint struct {
	Store      string `json:"store"`           // where to
	SeqStored  int    `json:"seq_stored"`      // the step up to which the run is stored
	Bytes      int64  `json:"bytes"`           // how much was sent
	DurationMS int64  `json:"duration_ms"`     // how long it took
	Error      string `json:"error,omitempty"` // why it was not stored
}

// Limit says that a limit of the run was reached, or soon will be. Value and
// Max are US dollars for "budget" and the two budgets of many runs, seconds for "deadline", 0 for "usage", and
// counts for the others.
type Limit struct {
	Which     string  `json:"which"`                    // "budget", "budget-per-key", "budget-per-day", "iterations", "agents", "depth", "deadline", "usage"
	Value     float64 `json:"value"`                    // how much it is now
	Max       float64 `json:"max"`                      // the limit
	Estimated bool    `json:"cost_estimated,omitempty"` // part of a budget's value is an estimate
	Unknown   int     `json:"cost_unknown,omitempty"`   // invocations that are not in a budget's value: nobody knows what they cost
	Unpriced  int64   `json:"cost_unpriced,omitempty"`  // tokens that are not in a budget's value: their model has no price
}

// Spent is the value of a budget.
func (l *Limit) Spent() Spent {
	return Spent{USD: usd(l.Value * float64(Dollar)), Estimated: l.Estimated, Unknown: l.Unknown, Unpriced: l.Unpriced}
}

// RunFinished closes the log, and each part of it before a resume.
type RunFinished struct {
	Status  Status `json:"status"`           // of the run; never running
	Outcome string `json:"outcome"`          // the status, but of a completed run "clean" or "clean_with_flake"
	Detail  string `json:"detail,omitempty"` // of a failed one: "partial" when some agents ended with a result, else "catastrophic"
	Reason  string `json:"reason,omitempty"` // why it is not completed
	Spent
	InheritedUSD USD          `json:"inherited_usd,omitempty"` // what the run had cost of which this one began as a copy; not in cost_usd
	Unfinished   []Unfinished `json:"unfinished,omitempty"`    // what was spent in state executions that a resume continues
	Iterations   int          `json:"iterations"`              // state executions begun
	FlakeRetries int          `json:"flake_retries"`           // state executions that were done only after a failed attempt
	Result       *Text        `json:"result,omitempty"`        // of the first agent; absent while it has none
	DurationMS   int64        `json:"duration_ms"`             // since this process began to drive the run
}

// Unfinished is what a state execution has cost that did not end with the run. A
// later state_finished of it has this in it.
type Unfinished struct {
	Agent string `json:"agent"` // whose it is
	State string `json:"state"` // file name
	Spent
	Models map[string]USD `json:"models,omitempty"` // what of cost_usd is known by model
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

// bodies has a body of each type of event, by the name of the type.
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
