package action

import (
	"cmp"
	"path/filepath"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/confine"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
)

// newCages makes the cages of a run. The caller closes them.
func newCages(s *step, a *agents, b *readyRun) (*confine.Cages, error) {
	if b.hasWork {
		if err := taint(s.dirs, nil); err != nil {
			return nil, problem.OfMachine("RUNNER_TEMP", err)
		}
	}
	var needs runner.Needs
	if isCaged(s.in, s.options.Cage) {
		var err error
		if needs, err = session.CageNeeds(a.clis, *b.options(), b.flow.Scope, s.options.Jobs); err != nil {
			return nil, problem.OfMachine("agent CLIs", err)
		}
	}
	return confine.New(s.options.Cage, confine.Site{
		Environ: a.clis.Env, Dir: s.dirs.work, Workspace: s.dirs.top, Temp: s.env.Getenv("RUNNER_TEMP"),
		Hidden: private(s.env, s.dirs, s.in.IsLocal()), Readable: needed(s.dirs.state, s.options.CLIs), Guarded: guarded(s.env), Needs: needs,
		MayGainPrivileges: s.in.AllowSudo,
		BeforeStart:       func(writable []string) error { return taint(s.dirs, writable) },
		// Neither agents nor their work are in the workspace, so trusted scripts may read the
		// checkout.
		NeverHasAgents: s.in.NoPrompts && !b.hasWork && afterAgents(s.dirs) == nil && !b.flow.HasUntrustedScripts(s.options.Jobs),
		Label:          s.options.Label, Info: func(line string) { s.log.print(s.log.shown(line)) }, Warn: s.log.warn,
	})
}

// isCaged reports whether agents are to run in a cage, and this system has one.
func isCaged(in job.Settings, c options.Cage) bool {
	return !c.IsOff() && !in.AllowSudo && cage.EntryProgram != ""
}

// cliFolder returns the directory where agent CLIs in a cage have their configuration and
// conversations, instead of the home directory. It returns "" without a cage. The directory belongs
// to the step, which restores conversations from checkpoints, or to the run if it is stored on this
// machine.
func (s *step) cliFolder() string {
	switch {
	case !isCaged(s.in, s.options.Cage):
		return ""
	case s.in.IsLocal():
		return session.CLIDir(s.dirs.run(cmp.Or(s.note.get().WorkflowID, s.options.WorkflowID)))
	}
	return session.CLIDir(s.dirs.own)
}

// private returns the paths that agents may not see: files of the run, of the runner, and of other
// steps that use the action.
func private(env Env, dirs folders, isLocal bool) []string {
	hidden := append(job.CommandFilePaths(env.Getenv), dirs.all, dirs.state)
	if isLocal { // the runs of other repositories are beside this one's
		hidden = append(hidden, filepath.Dir(filepath.Dir(dirs.state)))
	}
	return hidden
}

// needed returns the paths below the temporary directory that agents need: the agent CLIs.
func needed(state string, clis map[string]string) []string {
	needed := []string{filepath.Join(state, toolsFolder)}
	for _, cli := range clis {
		if filepath.IsAbs(cli) {
			needed = append(needed, cli)
		}
	}
	return needed
}

// actionFolder returns the directory of this action, or "" if the program was started by hand.
func actionFolder(env Env) string {
	if shim := env.Getenv(shimVariable); shim != "" {
		return filepath.Dir(filepath.Dir(shim))
	}
	return ""
}

// guarded returns the directories of actions. Their post phases get the job's secrets.
func guarded(env Env) []string {
	var folders []string
	if own := actionFolder(env); own != "" {
		folders = append(folders, own)
	}
	if temp := env.Getenv("RUNNER_TEMP"); temp != "" {
		folders = append(folders, filepath.Join(filepath.Dir(temp), "_actions"))
	}
	return folders
}
