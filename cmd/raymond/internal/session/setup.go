package session

import (
	"cmp"
	"io"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// Setup configures a session.
type Setup struct {
	Options    *options.Options
	Scope      *scope.Scope
	Run        *state.Run
	Store      *journal.File  // nil if the run's state is not saved
	Resumed    bool           // an earlier process has driven the run
	NewOptions *state.Options // the options from now on; if nil, the run keeps its options
	Dir        string         // the run's own directory, absolute

	// Config connects the run to other processes and to users. The caller may set Prompter, Checkpoints,
	// Part, Matrix, HandOver and Redact; Open sets the other fields.
	Config runner.Config
	// Agents configures the agent CLIs, in addition to the run's options. It is nil if no agent is started.
	Agents    *clis.Config
	Env       Env // for scripts and commands; Agents contains the variables of agent CLIs
	Backends  Backends
	Snapshots *workspace.Snapshots // takes snapshots of the worktrees; may be nil
	Stops     *Stops

	Stdout io.Writer           // for events, if --events is -, and for the result
	Stderr io.Writer           // for warnings
	Hide   func(string) string // replaces secrets in the texts of events; if nil, nothing is replaced
	Seal   report.IntegrityLog // gets all writes to the run's event log; may be nil

	TraceEnviron []string // OpenTelemetry variables for the export of traces; if nil, traces are not exported
	Version      string   // version of this program, for traces
}

// CurrentOptions returns the options with which the run continues.
func (s Setup) CurrentOptions() state.Options {
	if s.NewOptions != nil {
		return *s.NewOptions
	}
	return s.Run.Options
}

// private returns the directory for the payload and script files that exist only while the run is driven.
func (s Setup) private() string { return cmp.Or(s.Env.PrivateDir, s.Dir) }

// Env is the environment of a run's processes: variables and cages.
type Env struct {
	Common  []string     // variables for scripts and done_when commands, which may run code of agents
	Trusted []string     // variables for trusted scripts
	Cages   runner.Cages // nil if the run has no cages
	// PrivateDir is a directory for the files that scripts run from. Agents can't write there. If it is
	// empty, the run's own directory is used.
	PrivateDir string
}

// Backends replace the processes that run prompts, scripts and done_when commands, for example in
// simulations. If a field is nil, its kind is run by processes as usual.
type Backends struct {
	Agents  func(clis.Config) map[string]runner.AgentCLI
	Scripts func(Env) runner.Backend
	Checks  func(env []string) runner.Verifier
}
