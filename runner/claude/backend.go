package claude

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// Backend runs prompts with the Claude Code CLI. It implements runner.Agent. Its fields
// must not change after the first call.
type Backend struct {
	// Path is the CLI; "" for "claude" on PATH. It is looked for, and its version
	// checked, before the first invocation.
	Path string
	// Installer installs the CLI where Path is "" and there is none on PATH; nil
	// leaves it to the user.
	Installer Installer
	// Tested is the newest version that this package was tested with, "" when nobody
	// knows; a newer one is noted.
	Tested string
	// IsUntrusted leaves out the hooks, servers and settings of the working directory.
	IsUntrusted bool
	// IsSandboxed lets root run what may do everything.
	IsSandboxed bool
	// Args are added at the end of every command line.
	Args []string
	// Env is the whole base environment. The switches of this package are added
	// to it as far as it does not set them.
	Env []string
	// ResultGrace is how long the CLI may take to exit after its result record before
	// it is ended; 0 means 10 s, which covers the 5 s that it gives its own background
	// shells.
	ResultGrace time.Duration
	// Proxy is what the CLI asks the API through, if it has a key for that; nil for
	// nothing.
	Proxy *keyproxy.Proxy
	// NoNewPrivs keeps the CLI, and the tools that it runs, from gaining
	// privileges, by sudo for one. Linux only.
	NoNewPrivs bool

	finder program.Finder
}

// Installer installs the CLI.
type Installer = program.Installer

var _ runner.Agent = (*Backend)(nil)

// Run implements runner.Backend for prompts. The error is nil or a
// *runner.Failure; a good result record makes it nil, whatever the process did
// after that.
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
	notes, fail := b.prepare(o)
	if fail != nil {
		return runner.Answer{Notes: notes, Prepared: prepared, Cost: program.Nothing.Cost}, fail
	}
	s := newStream(o, tell)
	s.costs.prior = b.priorCount(o)
	a, fail := b.ask(ctx, c.Path, s)
	// Events of early versions have no other CLI, and name this one so.
	a.CLI = fmt.Sprintf("%s at %s", c.Version, c.Path)
	a.Notes, a.Prepared = append(notes, a.Notes...), prepared
	if fail != nil {
		return a, fail
	}
	return a, nil
}

// ask runs the CLI, through the proxy where there is one.
func (b *Backend) ask(ctx context.Context, path string, s *stream) (runner.Answer, *runner.Failure) {
	account := b.Proxy.Open(protocol.BackendClaude, s.Order.Mark)
	if account == nil {
		return b.invoke(ctx, path, s)
	}
	defer account.Close()
	defer s.through(account)()
	a, fail := b.invoke(ctx, path, s)
	return a, program.Explain(fail, account)
}

// invoke starts the CLI and says what came of it.
func (b *Backend) invoke(ctx context.Context, path string, s *stream) (runner.Answer, *runner.Failure) {
	s.timer = newResultTimer(b.resultGrace())
	defer s.timer.stop()
	exit, fail := s.Run(ctx, program.Invocation{
		Path: path, Args: b.args(s.Order), Env: b.env(s.Order.Env), Stdout: s,
		Finished: s.timer.done, NoNewPrivs: b.NoNewPrivs, HowTo: howToInstall,
	})
	if fail != nil {
		return program.Nothing, fail
	}
	s.Flush()
	s.costs.close() // whatever the process left behind uses nothing from here on
	return s.answer(exit)
}

func (b *Backend) resultGrace() time.Duration {
	if b.ResultGrace > 0 {
		return b.ResultGrace
	}
	return 10 * time.Second
}
