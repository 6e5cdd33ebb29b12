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

// Source is which program the CLI is. Its oldest version is the first one that this package was seen to work with; 0.142.3
// refuses its settings.
func (b *Backend) Source() program.Source {
	return program.Source{
		Backend: protocol.BackendCodex, Title: title, Name: "codex", HowTo: Pin.HowTo(),
		Oldest: program.Version{0, 152, 1}, Env: b.Env,
	}
}

// Run implements runner.Backend for prompts.
func (b *Backend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	// The databases hold absolute paths, which keep a thread from being resumed elsewhere, and
	// nothing that a rollout lacks.
	databases := ""
	defer func() { os.RemoveAll(databases) }()
	return b.CLI.Run(ctx, o, tell, program.Prompt{Source: b.Source(), Prepare: func() (program.Turn, []string, *runner.Failure) {
		t, fail := b.prepare(o)
		if fail != nil {
			return program.Turn{}, t.may.notes, fail
		}
		var err error
		if databases, err = os.MkdirTemp(program.Variable(b.env(o.Env), "TMPDIR"), "codex-"); err != nil {
			fail = program.Machine("make a folder for the databases of the agent CLI: %v", err)
		}
		return b.turn(newStream(o, t, tell), databases), t.may.notes, fail
	}})
}

func (b *Backend) turn(s *stream, databases string) program.Turn {
	var account *keyproxy.Account
	return program.Turn{
		Stream: s.Stream,
		Start: func(a *keyproxy.Account) (proc.Options, *runner.Failure) {
			account = a
			env := b.env(s.Order.Env)
			s.Order.Cage = s.turn.confine(s.Order.Cage, b.kept(env))
			return proc.Options{Args: b.args(s.turn, env, setting("sqlite_home", databases)), Env: env}, b.checkLogin(env)
		},
		Answer: func(exit proc.Exit) (runner.Answer, *runner.Failure) {
			a, fail := s.answer(exit)
			b.book(&a, s)
			b.refusals(&a, s)
			metered(&a, account)
			return a, fail
		},
	}
}

// checkLogin refuses an invocation that has neither a key nor a login, nor settings that may
// name one. The CLI would ask the API all the same, again and again.
func (b *Backend) checkLogin(env []string) *runner.Failure {
	if provider(env) != nil {
		return nil
	}
	for _, name := range []string{"auth.json", configName} {
		if _, err := os.Stat(filepath.Join(homeOf(b.Env), name)); err == nil {
			return nil
		}
	}
	return program.Fatal("authentication: there is no key in %s, and nobody has logged in with `codex login`", keyVar)
}
