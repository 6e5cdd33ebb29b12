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
)

// Setup configures a session.
type Setup struct {
	Options    *options.Options
	Scope      *scope.Scope
	Run        *state.Run
	Store      *state.File    // nil if the run's state is not saved
	Resumed    bool           // the run was driven before
	NewOptions *state.Options // the options from now on; nil: the run's options
	Dir        string         // the run's own directory, absolute

	// Config connects the run to other processes and people: Prompter, Checkpoints, Part, Matrix, HandOver and Redact.
	// Open sets the rest.
	Config runner.Config
	// Agents configures the agent CLIs, in addition to the run's options; nil if no agent is started.
	Agents    *clis.Config
	Env       Env // for scripts and commands; agent CLIs have their own variables
	Backends  Backends
	Snapshots *workspace.Snapshots // takes snapshots of the worktrees; nil: none
	Stops     *Stops

	Stdout io.Writer           // for --events -
	Stderr io.Writer           // for warnings
	Hide   func(string) string // hides secrets in every text of every event; nil: hides nothing
	Seal   report.IntegrityLog // gets all writes to the run's event log; nil for none

	TraceEnviron []string // OpenTelemetry variables for the export of traces; nil: no export
	Version      string   // of this program, for traces
}

// CurrentOptions returns the options with which the run continues.
func (s Setup) CurrentOptions() state.Options {
	if s.NewOptions != nil {
		return *s.NewOptions
	}
	return s.Run.Options
}

// private returns the directory for files that scripts run from, while the run is driven.
func (s Setup) private() string { return cmp.Or(s.Env.PrivateDir, s.Dir) }

// Env is the environment of a run's processes: variables and cages.
type Env struct {
	Common  []string     // for scripts and done_when commands, which run code of agents
	Trusted []string     // for trusted scripts
	Cages   runner.Cages // nil for none
	// PrivateDir is a directory that agents can't write, for files that scripts run from; "": the run's own directory.
	PrivateDir string
}

// Backends replace the processes that run prompts, scripts and done_when commands; nil keeps the processes.
type Backends struct {
	Agents  func(clis.Config) map[string]runner.AgentCLI
	Scripts func(Env) runner.Backend
	Checks  func(env []string) runner.Verifier
}
