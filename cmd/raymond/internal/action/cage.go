package action

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/confine"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/owncode"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/places"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner"
)

// checkCage reports inputs that need a cage, beside the one that allows none: who may
// gain privileges can leave it.
func checkCage(s *step) error {
	if !s.in.AllowSudo {
		return nil
	}
	const what, hint = "can't go with allow-sudo: true, which means no cage at all", "leave one of them out"
	switch c := s.options.Cage; {
	case c.Mode == options.CageRequire:
		return problem.Usage("input cage", what, hint)
	case c.Network != "":
		return problem.Usage("input network", what, hint)
	case !c.IsOff():
		s.voice.warnOnce("allow-sudo: true means no cage: agents are confined by nothing but the runner's user")
	}
	return nil
}

// newCages makes the cages of a run. The caller closes them.
func newCages(s *step, a *agents, b *readyRun) (*confine.Cages, error) {
	var needs runner.Needs
	if !s.options.Cage.IsOff() {
		needs = session.Needs(a.clis, b.options(), b.flow.Scope, s.options.Jobs)
	}
	return confine.New(s.options.Cage, confine.Site{
		Site: places.Site{
			Environ: a.clis.Env, Dir: s.dirs.work, Workspace: s.dirs.top, Temp: s.getenv("RUNNER_TEMP"),
			Hidden: s.private(), Shown: s.needed(), Guarded: s.guarded(),
		},
		Needs:  needs,
		IsFree: s.in.AllowSudo,
		Label:  s.options.Label, Tell: func(line string) { s.voice.print(s.voice.shown(line)) }, Warn: s.voice.warn,
	})
}

// private are the files of the run, of the runner, and of other steps that use the
// action.
func (s *step) private() []string {
	parent, _ := stepFolders(s.getenv)
	hidden := append(job.CommandFiles(s.getenv), parent, s.dirs.state)
	if s.isLocal() { // with other repositories' runs beside this one's
		hidden = append(hidden, filepath.Dir(filepath.Dir(s.dirs.state)))
	}
	return hidden
}

// needed is what agents need of the temporary folder: the agent CLI, where it is there.
func (s *step) needed() []string {
	needed := []string{filepath.Join(s.dirs.state, toolsFolder)}
	for _, cli := range s.options.CLIs {
		if filepath.IsAbs(cli) {
			needed = append(needed, cli)
		}
	}
	return needed
}

// guarded are the folders of actions, whose post parts get the job's secrets.
func (s *step) guarded() []string {
	var folders []string
	if shim := s.getenv(owncode.Variable); shim != "" {
		folders = append(folders, filepath.Dir(filepath.Dir(shim)))
	}
	if temp := s.getenv("RUNNER_TEMP"); temp != "" {
		folders = append(folders, filepath.Join(filepath.Dir(temp), "_actions"))
	}
	return folders
}
