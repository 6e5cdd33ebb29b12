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

// Setup is what a session is opened with.
type Setup struct {
	Options    *options.Options
	Scope      *scope.Scope
	Run        *state.Run
	Store      *state.File    // nil for a run of which no state is kept
	Resumed    bool           // the run was driven before
	NewOptions *state.Options // the options from now on; nil for those of the run
	Dir        string         // the run's own folder, absolute

	// Config has those who have to do with the run besides its process: People, Checkpoints, Part, Matrix, HandOver
	// and Redact. Open adds what it knows itself.
	Config runner.Config
	// Agents are what agent CLIs are given, apart from what the options of the run say; nil
	// where no agent is started.
	Agents    *clis.Config
	Env       Env // of what is started; agent CLIs have variables of their own
	Backends  Backends
	Snapshots *workspace.Snapshots // keeps the files of the worktrees; nil for nobody
	Stops     *Stops

	Stdout io.Writer           // for --events -
	Stderr io.Writer           // for warnings
	Hide   func(string) string // hides secrets in every text of every event; nil for nothing
	Seal   report.IntegrityLog // is told of what is written to the run's event log; nil for nobody

	TraceEnviron []string // variables of OpenTelemetry, which say where the run is exported to; nil: it is not exported
	Version      string   // of this program, for traces
}

// CurrentOptions are the options with which the run continues.
func (s Setup) CurrentOptions() state.Options {
	if s.NewOptions != nil {
		return *s.NewOptions
	}
	return s.Run.Options
}

// private is where what scripts are run from is kept while the run is driven.
func (s Setup) private() string { return cmp.Or(s.Env.PrivateDir, s.Dir) }

// Env is what surrounds the processes of a run: their variables, and their cages.
type Env struct {
	Common  []string     // of scripts and done_when commands, which run what agents wrote
	Trusted []string     // of trusted scripts
	Cages   runner.Cages // nil for none
	// PrivateDir is a folder that agents can't write, for what scripts are run from; "" for the run's own.
	PrivateDir string
}

// Backends make what runs prompts, scripts and done_when commands in place of processes; nil for processes.
type Backends struct {
	Agents  func(clis.Config) map[string]runner.AgentCLI
	Scripts func(Env) runner.Backend
	Checks  func(env []string) runner.Verifier
}
