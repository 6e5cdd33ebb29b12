package runner

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Store keeps the run. After Append or Fold returns nil, what they were given
// survives a crash.
type Store interface {
	Append(*state.Delta) error
	// WriteSnapshot saves the run as a whole. The step that led to it is nil if it was appended.
	WriteSnapshot(*state.Run, *state.Delta) error
	// Full reports whether it is time to Fold.
	Full() bool
}

// Reporter is told every event, in order, from one goroutine; Tick comes about
// once a second.
type Reporter interface {
	Report(state.Event)
	Tick(now time.Time)
	// Note is a line for people that is no event.
	Note(agent, state, text string)
	// Doing says what an agent does from now on, and, in p.Text, what it said when
	// that is no event; or, with p.Tool alone, which tool it uses. It may come very often.
	Doing(agent, state string, p Progress)
}

// Meter counts what invocations use while they are under way, and stops them from using
// more than there is.
type Meter interface {
	// SetAllowance says what may still be spent, apart from what the invocations under way use,
	// whose marks (Order.Mark) it names; state.MostUSD is no limit. The owner calls it
	// after each step, before it starts what the step starts. It returns at once.
	SetAllowance(left state.USD, running []string)
}

// Cages gives what is started the cage that it runs in. Only the owner calls it.
type Cages interface {
	// Env has the variables of everything that runs in a cage.
	Env() []string
	// Agent returns the cage of an agent that works in a directory, and of the commands
	// that check its work; nil for none.
	Agent(dir string) *cage.Cage
	// Script returns the cage of a script, nil for none; Trusted that of one that is trusted, which hides
	// all that agents can write.
	Script(dir string, s ScriptOrder) *cage.Cage
	Trusted(s ScriptOrder) *cage.Cage
	// RecordRefusal is told the path of a file that what runs in a cage was refused, as its
	// output says, which may be a lie, or the doing of something else than the cage.
	RecordRefusal(path string)
}

// Snapshots keeps the files of the workspace as they were after state executions. Only the
// owner calls Take.
type Snapshots interface {
	// Take begins to keep the files, and returns at once. Its channel is closed when they are
	// kept, or when it is known that they can't be. At most one is taken at a time: another
	// one waits for the one before.
	Take(s SnapshotRequest) <-chan struct{}
	// Notes returns for people why files were not kept, each note once. Any goroutine may call it.
	Notes() []string
}

// SnapshotRequest is what a snapshot is of.
type SnapshotRequest struct {
	Exec         int // number of the state execution that has ended
	Agent, State string
	Dir          string // absolute; where it worked
	// IsShared says that another agent worked in the same folder meanwhile, so that not all
	// that has changed need be of this execution.
	IsShared bool
}

// Matrix is a job that is run many times at once, for some of the waiting agents each.
type Matrix struct {
	Job     string // whose states it runs; "" for the first of those that are waited for
	MaxJobs int    // how many there are at most
}

// Config is what a Runner needs.
type Config struct {
	Workflow *protocol.Workflow
	// Agents are the agent CLIs that prompts may be run with, by their names, which are
	// among protocol.Backends. An agent whose state needs another one fails.
	Agents   map[string]AgentCLI
	Scripts  Backend // runs scripts
	Verifier Verifier
	Store    Store
	Reporter Reporter
	// Checkpoints stores the run for later jobs; nil when nothing is stored and a
	// suspended run can be resumed where it is.
	Checkpoints Checkpoints
	Clock       Clock
	// Meter holds invocations to the budget while they are under way; nil when nobody can.
	Meter Meter
	// Cages confines agents and what runs what they wrote; nil confines nothing.
	Cages Cages
	// RunsTrustedAlone has trusted scripts run while no agent, check or other script does.
	RunsTrustedAlone bool
	// Snapshots keeps the files of the workspace after prompts; nil keeps none.
	Snapshots Snapshots

	// Prompter asks the questions of the run; nil: a run with open questions is suspended.
	Prompter Prompter
	// Jobs are the jobs whose states run here; nil for all.
	Jobs []string
	// Part names the agents of a part of a matrix: only they, and those that they fork,
	// leave their waits. nil is the whole run.
	Part []string
	// Matrix says how agents that wait for another job are handed over to the jobs of a
	// matrix when the run stops; nil hands none over.
	Matrix *Matrix
	// Hold is how long a run of which all agents wait stays for a time that comes; negative
	// is without end.
	Hold time.Duration

	NewID func() string // a fresh session id
	// NewToken returns 32 random hex digits, for a question; nil leaves questions without.
	NewToken func() string
	// ListPrice returns what tokens of a model cost by its maker's price list, and false
	// for a model that is not in it: its tokens cost at most so much, or 0 where nobody
	// knows. nil knows none.
	ListPrice func(state.Usage) (state.USD, bool)
	// Redact replaces secrets in what agents say and in what went wrong; nil
	// leaves texts as they are.
	Redact func(string) string

	// HandOver puts what agents have done into an empty folder, for a script with work=true. Workers call it, several
	// at once; nil where nobody can, so that such a script gets nothing.
	HandOver func(ctx context.Context, w Work, to string) (HandOver, error)

	TrustedDir string // private; trusted scripts have folders of their own there while they run
	ScriptDir  string // the private copy of the scope
	PayloadDir string // private; files with the payloads of running scripts
	LogDir     string // logs of verified attempts, below it by agent
	CopyDir    string // has copies of the files that done_when protects, by agent
	DebugDir   string // "" for none
	Verbosity  Verbosity
	// Traced says that the run is exported as a trace: what is started is told its span, and
	// reporters every use of a tool. The run has a Trace then.
	Traced bool

	// Deadline is the time after which nothing new starts; 0 is none. It counts from Began,
	// or from Run on if that is zero.
	Deadline  time.Duration
	StartTime time.Time
	// Continuations is how often in a row a run that its deadline has suspended may be
	// continued by the job that it ends; 0: never.
	Continuations int
	// Cancel brings the names of signals that ask the run to end. The first
	// gives states in flight a short grace, the second none.
	Cancel <-chan string
}

// Clock is the time as the runner sees it.
type Clock struct {
	Now func() time.Time
	// After fires once. The owner waits for the last one that it asked for, and no
	// longer for those before.
	After func(time.Duration) <-chan time.Time
	// Idle, when not nil, is told that the owner is about to wait, and how many
	// workers have not answered yet. A simulated clock may jump now.
	Idle func(busy int)
	// Tick is how often reporters are told the time; 0 for every second.
	Tick time.Duration
}

// RealClock is the clock of the machine.
func RealClock() Clock { return Clock{Now: time.Now, After: time.After} }

// state returns the state that an agent is at.
func (c *Config) state(a *state.Agent) *protocol.State {
	st, _ := c.Workflow.State(a.State)
	return st
}
