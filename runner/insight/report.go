// Package insight gathers what is known of a run, from its state file, its event log, the
// transcripts of its conversations and the snapshots of its files: the data that the page of
// a report shows, and that programs read as JSON.
//
// Texts are masked when they come in, and bounded; what was left out is said. Nothing is
// escaped: that is for those who write a page.
package insight

import (
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Report is everything about a run that people and programs are shown.
type Report struct {
	WorkflowID string            `json:"workflow_id"`
	Status     string            `json:"status"` // interrupted when nobody drives a run that has not ended
	Outcome    string            `json:"outcome,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Scope      string            `json:"scope"`
	Entry      string            `json:"entry"`
	Meta       map[string]string `json:"meta,omitempty"`
	Created    time.Time         `json:"created"`
	Finished   time.Time         `json:"finished,omitzero"` // of the last event
	Result     string            `json:"result,omitempty"`

	Spent        Spent     `json:"spent"`
	InheritedUSD state.USD `json:"inherited_usd,omitempty"` // spent by the run that this one continues a copy of
	BudgetUSD    state.USD `json:"budget_usd,omitempty"`
	RerunOf      *RerunOf  `json:"rerun_of,omitempty"`
	Parts        []Part    `json:"parts"` // of the time: from each start or resume to the stop after it
	Agents       []Agent   `json:"agents"`
	Executions   []Exec    `json:"executions"` // in the order of their numbers
	Waits        []Wait    `json:"waits"`
	Limits       []Limit   `json:"limits"`
	Costs        Costs     `json:"costs"`
	LeftOut      []string  `json:"left_out"` // a line each, for people
}

// Spent is what something cost.
type Spent struct {
	state.Spent
	Tokens *state.Tokens `json:"tokens,omitempty"`
}

// RerunOf is the run, and the state execution, that a run was begun from again.
type RerunOf struct {
	WorkflowID string `json:"workflow_id"`
	Exec       int    `json:"exec"`
}

// Part is a time in which a process drove the run.
type Part struct {
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Status  string    `json:"status,omitempty"` // in which it stopped
	Reason  string    `json:"reason,omitempty"`
}

// Agent is a thread of the run: a row of the timeline.
type Agent struct {
	ID     string            `json:"id"`
	Parent string            `json:"parent,omitempty"`
	Status string            `json:"status"` // running, waiting, failed, ended
	Vars   map[string]string `json:"vars,omitempty"`
	Result string            `json:"result,omitempty"`
	Error  string            `json:"error,omitempty"`
	Spent  Spent             `json:"spent"`
}

// Exec is one state execution: a bar of the timeline, and a section of the page.
type Exec struct {
	N       int       `json:"exec"`
	Agent   string    `json:"agent"`
	State   string    `json:"state"`
	Kind    string    `json:"kind"`   // prompt or script
	Status  string    `json:"status"` // completed, failed, interrupted, running
	Error   string    `json:"error,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Spent   Spent     `json:"spent"`
	// Total is what the run had cost when it ended.
	Total  state.USD            `json:"total_usd"`
	Models map[string]state.USD `json:"models,omitempty"`

	AgentCLI   string            `json:"agent_cli,omitempty"`
	Model      string            `json:"model,omitempty"`
	SessionID  string            `json:"session_id,omitempty"`
	Mode       string            `json:"session,omitempty"` // fresh, resume, branch
	Cwd        string            `json:"cwd,omitempty"`
	Turns      int               `json:"turns,omitempty"`
	Transition *state.Transition `json:"transition"` // nil while there is none
	Reminders  []Moment          `json:"reminders,omitempty"`
	Retries    []Moment          `json:"retries,omitempty"`
	// Interruptions are the times at which an attempt was cut off and then repeated.
	Interruptions []Moment        `json:"interruptions,omitempty"`
	Attempts      []Attempt       `json:"attempts,omitempty"`
	Refusals      []state.Refusal `json:"refusals,omitempty"`
	ExitCode      *int            `json:"exit_code,omitempty"`
	Signal        string          `json:"signal,omitempty"`
	Stdout        string          `json:"stdout_tail,omitempty"`
	Stderr        string          `json:"stderr_tail,omitempty"`
	Output        []string        `json:"output,omitempty"` // lines of agent_output events, where there is no transcript

	Messages []runner.Message `json:"messages,omitempty"`
	// Gap is what was left out of Messages; nil when nothing was.
	Gap *Gap `json:"messages_left_out,omitempty"`
	// IsCut says that of the texts above some were left out: lines of output, the output of
	// commands.
	IsCut bool `json:"texts_left_out,omitempty"`
	// Files are nil where there are no snapshots.
	Files    []File `json:"files"`
	IsShared bool   `json:"files_shared,omitempty"` // other agents worked in the folder meanwhile
}

// Gap is where messages were left out of a conversation.
type Gap struct {
	After    int `json:"after"`    // how many messages come before the gap
	Messages int `json:"messages"` // how many were left out
}

// Moment is something that happened in an execution.
type Moment struct {
	Time      time.Time `json:"time"`
	Text      string    `json:"text"`
	BackoffMS int64     `json:"backoff_ms,omitempty"`
}

// Attempt is the verdict on one attempt of a state with done_when.
type Attempt struct {
	Ended time.Time `json:"ended"`
	state.NodeAttempt
}

// File is a file that an execution has changed.
type File struct {
	Path   string `json:"path"`   // in the repository, with slashes
	Change string `json:"change"` // added, changed, deleted
	Diff   string `json:"diff,omitempty"`
	Cut    bool   `json:"diff_cut,omitempty"`
}

// Wait is a time in which an agent waited.
type Wait struct {
	Agent    string    `json:"agent"`
	State    string    `json:"state"`
	For      string    `json:"for"` // time, answer, agents, job, retry
	From     time.Time `json:"from"`
	To       time.Time `json:"to,omitzero"` // zero: it still waits
	Job      string    `json:"job,omitempty"`
	Number   int       `json:"number,omitempty"` // of the question
	Question string    `json:"question,omitempty"`
	Answer   string    `json:"answer,omitempty"`
	By       string    `json:"by,omitempty"` // who answered, or what ended it
}

// Limit is a limit that was reached or nearly so.
type Limit struct {
	Time  time.Time `json:"time"`
	Exec  int       `json:"exec,omitempty"`
	Which string    `json:"which"`
	Value float64   `json:"value"`
	Max   float64   `json:"max"`
}

// Costs are sums of the ledger.
type Costs struct {
	ByAgent []Sum `json:"by_agent"`
	ByState []Sum `json:"by_state"`
	ByModel []Sum `json:"by_model"`
}

// Sum is what all executions of something cost.
type Sum struct {
	Name       string `json:"name"`
	Executions int    `json:"executions"`
	Failed     int    `json:"failed"`
	Retries    int    `json:"retries"` // and attempts beyond the first
	DurationMS int64  `json:"duration_ms"`
	Spent      Spent  `json:"spent"`
}
