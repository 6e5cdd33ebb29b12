package runner

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Store saves the run on disk. When Append or WriteSnapshot has returned nil, the saved data
// survives a crash.
type Store interface {
	// Append saves a step at the end of the journal.
	Append(*state.Delta) error
	// WriteSnapshot saves the whole run. The Delta is the last step of the run, or nil if that
	// step was appended already.
	WriteSnapshot(*state.Run, *state.Delta) error
	// Full reports whether the journal is so long that WriteSnapshot should be called.
	Full() bool
}

// Reporter gets every event, in order, from one goroutine. That goroutine calls Tick about once a
// second.
type Reporter interface {
	Report(state.Event)
	Tick(now time.Time)
	// Note reports a line for users that is not an event. If the line concerns no agent, agent and
	// state are empty.
	Note(agent, state, text string)
	// Doing reports an agent's new activity and, in p.Text, a line of output that is not an event.
	// If p.Tool is set, Doing reports a tool call instead. It may be called very often.
	Doing(agent, state string, p Progress)
}

// Meter counts the tokens that running invocations use, and stops invocations that would exceed
// the budget.
type Meter interface {
	// SetAllowance sets how much may still be spent. The cost of running invocations is not yet
	// subtracted from left; running contains their marks (Order.Mark). If left is state.MaxUSD,
	// there is no limit. The owner calls SetAllowance after each step, before the step's
	// invocations start. It returns immediately.
	SetAllowance(left state.USD, running []string)
}

// Cages decides in which cage each invocation runs. Only the owner calls its methods.
type Cages interface {
	// Env returns the environment variables for every process in a cage.
	Env() []string
	// Agent returns the cage of an agent that works in a directory. Commands that check the
	// agent's work get the same cage. It returns nil if they run without a cage.
	Agent(dir string) *cage.Cage
	// Script returns the cage of an untrusted script, or nil if it runs without a cage. Trusted
	// returns the cage of a trusted script, which hides every file that agents can write.
	Script(dir string, s ScriptOrder) *cage.Cage
	Trusted(s ScriptOrder) *cage.Cage
	// RecordRefusal records the path of a file to which a cage may have denied access. The path
	// is from the output of a program in the cage. That output may be wrong, or access may have
	// failed for another reason than the cage.
	RecordRefusal(path string)
}

// Snapshots saves the files of the workspace after executions of states. Only the owner calls
// Take.
type Snapshots interface {
	// Take starts a workspace snapshot and returns immediately. The channel is closed when the
	// snapshot is complete or has failed. Only one snapshot is taken at a time; the next one waits
	// until it is complete.
	Take(s SnapshotRequest) <-chan struct{}
	// Notes returns messages for users about snapshots that failed. It returns each message once.
	// It is safe for concurrent use.
	Notes() []string
}

// SnapshotRequest describes the state execution after which a workspace snapshot is taken.
type SnapshotRequest struct {
	Exec         int // number of the state execution that has ended
	Agent, State string
	Dir          string // absolute path of the directory in which the agent worked
	// IsShared is true if another agent worked in the same folder at the time, so that some
	// changes may be the other agent's.
	IsShared bool
}

// Matrix describes the matrix of GitHub jobs that run next, each for some of the waiting agents.
type Matrix struct {
	Job     string // the job whose states the matrix runs; "" means the first job that agents wait for
	MaxJobs int    // the largest number of jobs
}

// Config contains the components and the options of a Runner.
type Config struct {
	Workflow *protocol.Workflow
	// Agents are the agent CLIs that can run prompts, by name (protocol.Backends). An agent whose
	// state needs another CLI fails.
	Agents   map[string]AgentCLI
	Scripts  Backend // runs scripts
	Verifier Verifier
	Store    Store
	Reporter Reporter
	// Checkpoints stores the run for later jobs. If it is nil, no checkpoints are stored, because
	// a suspended run can be resumed from its files.
	Checkpoints Checkpoints
	Clock       Clock
	// Meter keeps running invocations within the budget. If it is nil, nothing stops a running
	// invocation that exceeds the budget.
	Meter Meter
	// Cages confines agents, and programs that run code which agents wrote. If it is nil, nothing
	// is confined.
	Cages Cages
	// RunsTrustedAlone makes trusted scripts run only while no agent, check or other script is
	// running.
	RunsTrustedAlone bool
	// Snapshots saves the files of the workspace after prompts. If it is nil, they are not saved.
	Snapshots Snapshots

	// Prompter asks users the questions of the run. If it is nil, a run with open questions is
	// suspended.
	Prompter Prompter
	// Jobs are the jobs whose states run here. Nil means all jobs.
	Jobs []string
	// Part lists the agents that run here as a part of a matrix. Only they, and agents that they
	// fork, leave their waits. Nil means all agents.
	Part []string
	// Matrix describes the matrix of jobs that continues the agents which wait for another job
	// when the run stops. Nil means that there is no matrix.
	Matrix *Matrix
	// Hold is the longest time that the run stays open when all its agents wait and one of them
	// can continue at a known time. A negative value means no limit.
	Hold time.Duration

	NewID func() string // returns a new session id
	// NewToken returns 32 random hex digits, for a question. If it is nil, questions have no token.
	NewToken func() string
	// ListPrice returns the price of a model's tokens in its vendor's price list. If the model is
	// not in a list, the boolean is false and the price is an upper bound, or 0 if it is unknown.
	// If ListPrice is nil, no price is known.
	ListPrice func(state.Usage) (state.USD, bool)
	// Redact replaces secrets in agents' output and in failures. If it is nil, texts stay
	// unchanged.
	Redact func(string) string

	// HandOver copies the agents' work into an empty folder, for a script with work=true. Workers
	// call it concurrently. If it is nil, such scripts get no work.
	HandOver func(ctx context.Context, w Work, to string) (HandOver, error)

	TrustedDir string // private; contains the folders of trusted scripts while they run
	ScriptDir  string // private copy of the workflow's folder
	PayloadDir string // private; contains files with the payloads of running scripts
	LogDir     string // contains logs of verifications, by agent
	CopyDir    string // contains copies of files that done_when protects, by agent
	DebugDir   string // contains debug output; may be ""
	Verbosity  Verbosity
	// Traced is true if the run is exported as a trace. Then processes get their span in the
	// environment, reporters get every tool call, and the run must have a Trace.
	Traced bool

	// Deadline is the time after which nothing new starts. It counts from StartTime or, if
	// StartTime is zero, from the start of Run. If Deadline is zero, the run has no deadline.
	Deadline  time.Duration
	StartTime time.Time
	// Continuations limits how many times in a row a run may be continued in a new job after its
	// deadline has suspended it. Zero means never.
	Continuations int
	// Cancel delivers the names of signals that request the end of the run. After the first one,
	// running states have a short grace period. The second one ends them immediately.
	Cancel <-chan string
}

// Clock is the runner's source of time.
type Clock struct {
	Now func() time.Time
	// After returns a channel that fires once. The owner waits only for the channel that it
	// requested last.
	After func(time.Duration) <-chan time.Time
	// Idle, if not nil, is called before the owner waits. busy is the number of workers that have
	// not answered yet. A simulated clock may advance then.
	Idle func(busy int)
	// Tick is the interval between calls of Reporter.Tick. Zero means one second.
	Tick time.Duration
}

// RealClock returns the clock of the machine.
func RealClock() Clock { return Clock{Now: time.Now, After: time.After} }

// state returns the state that an agent is in.
func (c *Config) state(a *state.Agent) *protocol.State {
	st, _ := c.Workflow.State(a.State)
	return st
}

// Checkpoints stores checkpoints of a run while the run is driven, so that a later job can find
// and continue it. Only the owner calls the methods, one at a time.
type Checkpoints interface {
	// Offer is called after each step that did not end the run, when the step's invocations have
	// started. It must return soon, and must not keep a reference to the run. If it returns false,
	// it is called again with the same step about every second, until there is another step.
	Offer(run *state.Run, now time.Time) (taken bool)
	// Stored returns a channel that delivers an event for each checkpoint that was stored or could
	// not be stored. The owner reports these events outside of steps.
	Stored() <-chan *state.Checkpoint
	// CheckResumable is called before a run is suspended, when no invocation is running. left are
	// the remaining agents. If it returns an error, no later job could resume the run, and the run
	// fails instead.
	CheckResumable(left []*state.Agent) error
}

// offer offers the last step to Checkpoints, unless Checkpoints has accepted it already.
func (r *Runner) offer() {
	if r.offerPending && r.run.Progress.Status == state.Running {
		r.offerPending = !r.cfg.Checkpoints.Offer(r.run, r.now())
	}
}
