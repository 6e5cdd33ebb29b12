package claude

import (
	"context"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// Backend runs prompts with the Claude Code CLI. It implements runner.Backend. The switches of this package are added to its
// environment as far as that does not set them.
type Backend struct {
	program.CLI
	// IsSandboxed lets root run what may do everything.
	IsSandboxed bool
	// Args are added at the end of every command line.
	Args []string
	// ResultGrace is how long the CLI may take to exit after its result record before
	// it is ended; 0 means 10 s, which covers the 5 s that it gives its own background
	// shells.
	ResultGrace time.Duration
}

// Run implements runner.Backend for prompts.
func (b *Backend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	a, err := b.CLI.Run(ctx, o, tell, program.Prompt{Source: b.source(), Prepare: func() (program.Turn, []string, *runner.Failure) {
		notes, fail := b.prepare(o)
		return b.turn(o, tell), notes, fail
	}})
	// Events of early versions have no other CLI, and name this one so.
	a.CLI = strings.TrimPrefix(a.CLI, title+" ")
	return a, err
}

func (b *Backend) turn(o runner.Order, tell func(runner.Progress)) program.Turn {
	s := newStream(o, tell)
	s.costs.prior = b.priorCount(o)
	s.timer = newResultTimer(b.resultGrace())
	return program.Turn{
		Stream: s.Stream,
		Start: func(account *keyproxy.Account) (proc.Options, *runner.Failure) {
			s.costs.proxy = account
			return proc.Options{Args: b.args(s.Order), Env: b.env(s.Order.Env), Finished: s.timer.done}, nil
		},
		Answer: func(exit proc.Exit) (runner.Answer, *runner.Failure) {
			s.timer.stop()
			return s.answer(exit)
		},
	}
}

func (b *Backend) resultGrace() time.Duration {
	if b.ResultGrace > 0 {
		return b.ResultGrace
	}
	return 10 * time.Second
}
