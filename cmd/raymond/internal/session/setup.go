package session

import (
	"cmp"
	"context"
	"io"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// Setup is what a session is opened with.
type Setup struct {
	Options *options.Options
	Scope   *scope.Scope
	Run     *state.Run
	Store   *state.File    // nil for a run of which no state is kept
	Resumed bool           // the run was driven before
	Changed *state.Options // the options from now on; nil for those of the run

	// Agents are what agent CLIs are given, apart from what the options of the run say; nil
	// where no agent is started.
	Agents   *agents.Config
	Env      Env // of what is started; agent CLIs have variables of their own
	Backends Backends
	Dir      string // the run's own folder, absolute

	Others Others
	Hide   Hide
	Stops  *Stops
	Out    Out
}

// Now are the options with which the run continues.
func (s Setup) Now() state.Options {
	if s.Changed != nil {
		return *s.Changed
	}
	return s.Run.Options
}

// private is where what scripts are run from is kept while the run is driven.
func (s Setup) private() string { return cmp.Or(s.Env.Private, s.Dir) }

// Others are those who have to do with a run besides its process.
type Others struct {
	People      runner.People      // answer the run's questions; nil for nobody
	Checkpoints runner.Checkpoints // stores the run for later jobs; nil for none
	Part        []string           // agents of a part of a matrix, which alone are driven; nil for all
	Matrix      *runner.Matrix     // to which agents are handed over; nil for none
	Snapshots   snapshots.Taker    // keeps the files of the worktrees; nil for nobody
	// HandOver is runner.Config.HandOver.
	HandOver func(ctx context.Context, w runner.Work, to string) (runner.HandedOver, error)
}

// Env is what surrounds the processes of a run: their variables, and their cages.
type Env struct {
	Common  []string     // of scripts and done_when commands, which run what agents wrote
	Trusted []string     // of trusted scripts
	Cages   runner.Cages // nil for none
	// Private is a folder that agents can't write, for what scripts are run from; "" for the run's own.
	Private string
}

// Backends make what runs prompts, scripts and done_when commands. What is nil is made of
// processes.
type Backends struct {
	Agents  func(agents.Config) map[string]runner.Agent
	Scripts func(Env) runner.Backend
	Checks  func(env []string) runner.Verifier
}

// withDefaults has nothing that is nil.
func (b Backends) withDefaults(noNewPrivs bool) Backends {
	if b.Agents == nil {
		b.Agents = agents.New
	}
	if b.Scripts == nil {
		b.Scripts = func(e Env) runner.Backend { return shell.Backend{Env: e.Common, Trusted: e.Trusted} }
	}
	if b.Checks == nil {
		b.Checks = func(env []string) runner.Verifier { return shell.Verifier{Env: env, NoNewPrivs: noNewPrivs} }
	}
	return b
}

// Hide is how secrets are hidden.
type Hide struct {
	Printed func(string) string // in what agents and scripts print
	Events  func(string) string // in every text of every event; nil for nothing
}

// Out is where a session writes to.
type Out struct {
	Stdout io.Writer   // for --events -
	Stderr io.Writer   // for warnings
	Seal   report.Seal // is told of what is written to the run's event log; nil for nobody
	Traces Traces
}

// Traces say where the run is exported to.
type Traces struct {
	Environ []string // with the variables of OpenTelemetry; nil: it is not exported
	Version string   // of this program
}
