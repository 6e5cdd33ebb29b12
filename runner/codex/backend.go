package codex

import (
	"context"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// Backend runs prompts with the Codex CLI. It implements runner.Backend.
type Backend struct{ program.CLI }

// Source describes the program of the CLI. Oldest is the first version that this package was tested
// with. Version 0.142.3 rejects some of the package's settings.
func (b *Backend) Source() program.Source {
	return program.Source{
		Backend: protocol.BackendCodex, Title: title, Name: "codex", HowTo: Pin.HowTo(),
		Oldest: program.Version{0, 152, 1}, Env: b.Env,
	}
}

// Run implements runner.Backend for prompts.
func (b *Backend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	// Each invocation gets new databases. The CLI's databases contain absolute paths, with which a
	// thread could not be resumed elsewhere. All other data is in the rollout too.
	databases := ""
	defer func() { os.RemoveAll(databases) }()
	return b.CLI.Run(ctx, o, tell, program.Prompt{Source: b.Source(), Prepare: func() (program.Turn, []string, *runner.Failure) {
		t, fail := b.prepare(o)
		if fail != nil {
			return program.Turn{}, t.may.notes, fail
		}
		var err error
		if databases, err = os.MkdirTemp(program.Variable(b.env(o.Env), "TMPDIR"), "codex-"); err != nil {
			fail = program.Machine("create a folder for the agent CLI's databases: %v", err)
		}
		return b.programTurn(newStream(o, t, tell), databases), t.may.notes, fail
	}})
}

// programTurn returns an invocation of the CLI for program.CLI.Run. It describes how to start the
// process and how to read the result.
func (b *Backend) programTurn(s *stream, databases string) program.Turn {
	var account *keyproxy.Account
	return program.Turn{
		Stream: s.Stream,
		Start: func(a *keyproxy.Account) (proc.Options, *runner.Failure) {
			account = a
			env := b.env(s.Order.Env)
			s.Order.Cage = s.turn.narrowCage(s.Order.Cage, b.writableDirs(env))
			return proc.Options{Args: b.args(s.turn, env, setting("sqlite_home", databases)), Env: env}, b.checkLogin(env)
		},
		Answer: func(exit proc.Exit) (runner.Answer, *runner.Failure) {
			a, fail := s.answer(exit)
			b.addCost(&a, s)
			b.addRefusals(&a, s)
			addMetered(&a, account)
			return a, fail
		},
	}
}

// checkLogin returns a failure if there is neither a key, nor a login, nor a configuration file
// that may contain one. Without this check, the CLI would repeat its request to the API again and
// again.
func (b *Backend) checkLogin(env []string) *runner.Failure {
	if providerSettings(env) != nil {
		return nil
	}
	for _, name := range []string{"auth.json", configName} {
		if _, err := os.Stat(filepath.Join(configDir(b.Env), name)); err == nil {
			return nil
		}
	}
	return program.Fatal("authentication: %s is not set and there is no login; set it, or run `codex login`", keyVar)
}
