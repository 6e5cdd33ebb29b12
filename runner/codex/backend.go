package codex

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// Backend runs prompts with the Codex CLI. It implements runner.Agent. Its fields must not
// change after the first call.
type Backend struct {
	// Path is the CLI; "" for "codex" on PATH. It is looked for, and its version checked,
	// before the first invocation.
	Path string
	// Installer installs the CLI where Path is "" and there is none on PATH; nil leaves it
	// to the user.
	Installer program.Installer
	// Tested is the newest version that this package was tested with, "" when nobody
	// knows; a newer one is noted.
	Tested string
	// Env is the whole base environment.
	Env []string
	// NoNewPrivs keeps the CLI, and the tools that it runs, from gaining privileges, by
	// sudo for one. Linux only.
	NoNewPrivs bool
	// Proxy is what the CLI asks the API through; nil for nothing.
	Proxy *keyproxy.Proxy
	// IsUntrusted says that nothing in the working directory is obeyed: neither AGENTS.md nor
	// what configures the CLI.
	IsUntrusted bool

	finder program.Finder
}

var _ runner.Agent = (*Backend)(nil)

// oldest is the first version that this package was seen to work with; 0.142.3 refuses its
// settings.
var oldest = program.Version{0, 152, 1}

const howToInstall = "install it with `npm install -g @openai/codex`"

func (b *Backend) source() program.Source {
	return program.Source{
		Title: title, Name: "codex", Path: b.Path, Installer: b.Installer, HowTo: howToInstall,
		Oldest: oldest, Tested: b.Tested, Env: b.Env, NoNewPrivs: b.NoNewPrivs,
	}
}

// Run implements runner.Backend for prompts. The error is nil or a *runner.Failure; a
// completed turn makes it nil, whatever the process did after that.
func (b *Backend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	if strings.TrimSpace(o.Prompt.Text) == "" {
		return program.Nothing, program.Fatal("prompt is empty: the agent CLI takes none that is blank")
	}
	began := time.Now()
	c, fail := b.finder.Find(ctx, b.source(), o, func(line string) { tell(runner.Progress{Note: line}) })
	prepared := time.Since(began)
	if fail != nil {
		return runner.Answer{Prepared: prepared, Cost: program.Nothing.Cost}, fail
	}
	t, fail := b.prepare(o)
	if fail != nil {
		return runner.Answer{Notes: t.may.notes, Prepared: prepared, Cost: program.Nothing.Cost}, fail
	}
	a, fail := b.ask(ctx, c.Path, newStream(o, t, tell))
	a.Notes, a.CLI, a.Prepared = append(t.may.notes, a.Notes...), c.String(), prepared
	if fail != nil {
		return a, fail
	}
	return a, nil
}

// ask runs the CLI, through the proxy where there is one.
func (b *Backend) ask(ctx context.Context, path string, s *stream) (runner.Answer, *runner.Failure) {
	account := b.Proxy.Open(protocol.BackendCodex, s.Order.Mark)
	defer account.Close()
	defer account.Follow(s.Display.Usage)()
	s.Order.Env = slices.Concat(s.Order.Env, account.Env(s.Order.Env))
	a, fail := b.invoke(ctx, path, s)
	account.Close() // whatever the process left behind uses nothing from here on
	metered(&a, account)
	return a, program.Explain(fail, account)
}

// invoke starts the CLI and says what came of it.
func (b *Backend) invoke(ctx context.Context, path string, s *stream) (runner.Answer, *runner.Failure) {
	o, t := s.Order, s.turn
	env := b.env(o.Env)
	if fail := b.checkLogin(env); fail != nil {
		return program.Nothing, fail
	}
	// The databases hold absolute paths, which keep a thread from being resumed elsewhere, and
	// nothing that a rollout lacks.
	databases, err := os.MkdirTemp(program.Variable(env, "TMPDIR"), "codex-")
	if err != nil {
		return program.Nothing, program.Machine("make a folder for the databases of the agent CLI: %v", err)
	}
	defer os.RemoveAll(databases)

	s.Order.Prompt.Cage = t.confine(o.Prompt.Cage, b.kept(env))
	exit, fail := s.Run(ctx, program.Invocation{
		Path: path, Args: b.args(t, env, setting("sqlite_home", databases)), Env: env, Stdout: s,
		NoNewPrivs: b.NoNewPrivs, HowTo: howToInstall,
	})
	if fail != nil {
		return program.Nothing, fail
	}
	s.Flush()
	a, fail := s.answer(exit)
	b.book(&a, s)
	b.refusals(&a, s)
	return a, fail
}

// checkLogin refuses an invocation that has neither a key nor a login, nor settings that may
// name one. The CLI would ask the API all the same, again and again.
func (b *Backend) checkLogin(env []string) *runner.Failure {
	home, err := b.rollouts().Home()
	if provider(env) != nil || err != nil {
		return nil
	}
	for _, name := range []string{"auth.json", "config.toml"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			return nil
		}
	}
	return program.Fatal("authentication: there is no key in %s, and nobody has logged in with `codex login`", keyVar)
}
