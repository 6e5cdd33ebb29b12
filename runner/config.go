package runner

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Store saves the run on disk. When Append or WriteSnapshot has returned nil, their arguments
// survive a crash.
type Store interface {
	Append(*state.Delta) error
	// WriteSnapshot saves the whole run. The Delta is the last step of the run, nil if it was
	// appended already.
	WriteSnapshot(*state.Run, *state.Delta) error
	// Full reports whether the journal is long enough to call WriteSnapshot.
	Full() bool
}

// Reporter gets every event, in order, from one goroutine. Tick is called about once a second.
type Reporter interface {
	Report(state.Event)
	Tick(now time.Time)
	// Note reports a line for people that is not an event.
	Note(agent, state, text string)
	// Doing reports an agent's new activity and, in p.Text, a line of output that is not an
	// event; or, with p.Tool alone, a use of a tool. It may be called very often.
	Doing(agent, state string, p Progress)
}

// Meter counts the tokens that running invocations use, and stops invocations that would exceed
// the budget.
type Meter interface {
	// SetAllowance sets how much may still be spent, not counting the running invocations, whose
	// marks (Order.Mark) are given; state.MostUSD means no limit. The owner calls it after each
	// step, before the invocations of the step start. It returns at once.
	SetAllowance(left state.USD, running []string)
}

// Cages returns the cage for each invocation. Only the owner calls it.
type Cages interface {
	// Env returns the environment variables for every process in a cage.
	Env() []string
	// Agent returns the cage of an agent that works in a directory, and of commands that check
	// its work; nil for none.
	Agent(dir string) *cage.Cage
	// Script returns the cage of an untrusted script, nil for none. Trusted returns the cage of a
	// trusted script, which hides every file that agents can write.
	Script(dir string, s ScriptOrder) *cage.Cage
	Trusted(s ScriptOrder) *cage.Cage
	// RecordRefusal records the path of a file to which access was denied in a cage, according to
	// the output of a program there. The output may be wrong, or the cause may be something other
	// than the cage.
	RecordRefusal(path string)
}

// Snapshots saves the files of the workspace after state executions. Only the owner calls Take.
type Snapshots interface {
	// Take begins to take a workspace snapshot, and returns at once. The channel is closed when
	// the snapshot is complete, or has failed. Snapshots are taken one at a time: each waits for
	// the one before.
	Take(s SnapshotRequest) <-chan struct{}
	// Notes returns messages for people about snapshots that failed, each once. It is safe for
	// concurrent use.
	Notes() []string
}

// SnapshotRequest describes the state execution after which a workspace snapshot is taken.
type SnapshotRequest struct {
	Exec         int // number of the state execution that has ended
	Agent, State string
	Dir          string // absolute; where the agent worked
	// IsShared is true if another agent worked in the same folder at the time, so that some
	// changes may be the other agent's.
	IsShared bool
}

// Matrix is a GitHub matrix of jobs that run next, each for some of the waiting agents.
type Matrix struct {
	Job     string // the job whose states they run; "" for the first job that agents wait for
	MaxJobs int    // the largest number of jobs
}

// Config has the parts and options of a Runner.
type Config struct {
	Workflow *protocol.Workflow
	// Agents are the agent CLIs that can run prompts, by name (protocol.Backends). An agent whose
	// state needs another CLI fails.
	Agents   map[string]AgentCLI
	Scripts  Backend // runs scripts
	Verifier Verifier
	Store    Store
	Reporter Reporter
	// Checkpoints stores the run for later jobs; nil for no checkpoints, because a suspended run
	// can be resumed from its files.
	Checkpoints Checkpoints
	Clock       Clock
	// Meter holds running invocations to the budget; nil for none.
	Meter Meter
	// Cages confines agents, and programs that run code which agents wrote; nil confines nothing.
	Cages Cages
	// RunsTrustedAlone makes trusted scripts run only while no agent, check or other script does.
	RunsTrustedAlone bool
	// Snapshots saves the files of the workspace after prompts; nil for none.
	Snapshots Snapshots

	// Prompter puts the questions of the run to people; if nil, a run with open questions is
	// suspended.
	Prompter Prompter
	// Jobs are the jobs whose states run here; nil for all.
	Jobs []string
	// Part lists the agents that run here as a part of a matrix: only they, and agents that they
	// fork, leave their waits. nil means all agents.
	Part []string
	// Matrix describes the matrix of jobs that gets the agents that wait for another job when the
	// run stops; nil for no matrix.
	Matrix *Matrix
	// Hold is how long a run whose agents all wait stays open for a time at which one continues;
	// negative means without limit.
	Hold time.Duration

	NewID func() string // returns a new session id
	// NewToken returns 32 random hex digits, for a question; if nil, questions have no token.
	NewToken func() string
	// ListPrice returns the price of tokens of a model from its vendor's price list. For a model
	// that is not in a list, the second value is false and the price is an upper bound, or 0 if
	// it is unknown. If ListPrice is nil, no price is known.
	ListPrice func(state.Usage) (state.USD, bool)
	// Redact replaces secrets in output of agents and in failures; nil leaves texts unchanged.
	Redact func(string) string

	// HandOver copies the agents' work into an empty folder, for a script with work=true. Workers
	// call it concurrently; if it is nil, the script gets no work.
	HandOver func(ctx context.Context, w Work, to string) (HandOver, error)

	TrustedDir string // private; contains the folders of trusted scripts while they run
	ScriptDir  string // the private copy of the scope
	PayloadDir string // private; contains files with the payloads of running scripts
	LogDir     string // contains logs of verifications, by agent
	CopyDir    string // contains copies of files that done_when protects, by agent
	DebugDir   string // "" for none
	Verbosity  Verbosity
	// Traced is true if the run is exported as a trace: processes get their span in the
	// environment, and reporters get every use of a tool. The run must have a Trace then.
	Traced bool

	// Deadline is the time after which nothing new starts; 0 means none. It counts from
	// StartTime, or from the start of Run if that is zero.
	Deadline  time.Duration
	StartTime time.Time
	// Continuations is how often in a row a run that its deadline has suspended may be continued
	// by the job that it ends; 0 means never.
	Continuations int
	// Cancel delivers the names of signals that request the end of the run. The first one leaves
	// states in flight a short grace period, the second one none.
	Cancel <-chan string
}

// Clock is the runner's source of time.
type Clock struct {
	Now func() time.Time
	// After returns a channel that fires once. The owner waits only for the channel that it
	// requested last.
	After func(time.Duration) <-chan time.Time
	// Idle, if not nil, is called when the owner is about to wait, with the number of workers
	// that have not answered yet. A simulated clock may advance then.
	Idle func(busy int)
	// Tick is the interval between calls of Reporter.Tick; 0 means one second.
	Tick time.Duration
}

// RealClock returns the clock of the machine.
func RealClock() Clock { return Clock{Now: time.Now, After: time.After} }

// state returns the state that an agent is in.
func (c *Config) state(a *state.Agent) *protocol.State {
	st, _ := c.Workflow.State(a.State)
	return st
}
