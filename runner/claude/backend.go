package claude

import (
	"context"
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
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
}

// Run implements runner.Backend for prompts.
func (b *Backend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	a, err := b.CLI.Run(ctx, o, tell, program.Prompt{Source: b.Source(), Prepare: func() (program.Turn, []string, *runner.Failure) {
		notes, fail := b.take(o)
		return b.turn(o, tell), notes, fail
	}})
	// Events of early versions have no other CLI, and name this one so.
	a.CLI = strings.TrimPrefix(a.CLI, title+" ")
	return a, err
}

// take makes the conversation ready that an order takes up, with a note where there is nothing to cut back.
func (b *Backend) take(o runner.Order) (notes []string, _ *runner.Failure) {
	_, path, fail := keptOf(b.Env).Prepare(o.Prompt, o.Dir)
	if fail == nil && path == "" && o.Prompt.Cut != nil {
		notes = []string{fmt.Sprintf("no transcript of session %s: nothing was cut back", o.Prompt.SessionID)}
	}
	return notes, fail
}

func (b *Backend) turn(o runner.Order, tell func(runner.Progress)) program.Turn {
	s := newStream(o, tell)
	s.ConfigDir, s.HowTo = configFolder(b.Env), Pin.HowTo()
	s.costs.prior = b.priorCount(o)
	return program.Turn{
		Stream: s.Stream,
		Start: func(account *keyproxy.Account) (proc.Options, *runner.Failure) {
			s.costs.proxy = account
			return proc.Options{Args: b.args(s.Order), Env: b.env(s.Order)}, nil
		},
		Answer: s.answer,
	}
}

// Source is which program the CLI is. Its oldest version is the first one that reports and accepts all that this package
// relies on.
func (b *Backend) Source() program.Source {
	return program.Source{
		Backend: protocol.BackendClaude, Title: title, Name: "claude", HowTo: Pin.HowTo(),
		Oldest: program.Version{2, 1, 221}, Env: b.env(runner.Order{}),
	}
}
