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

// Backend runs prompts with the Claude Code CLI. It implements runner.Backend. The CLI also gets the
// variables in switches that Env doesn't set.
type Backend struct {
	program.CLI
	// IsSandboxed allows the CLI to skip permission checks when it runs as root.
	IsSandboxed bool
	// Args are appended to every command line.
	Args []string
}

// Run implements runner.Backend for prompts.
func (b *Backend) Run(ctx context.Context, o runner.Order, report func(runner.Progress)) (runner.Answer, error) {
	a, err := b.CLI.Run(ctx, o, report, program.Prompt{Source: b.Source(), Prepare: func() (program.Turn, []string, *runner.Failure) {
		notes, fail := b.prepareConversation(o)
		return b.newTurn(o, report), notes, fail
	}})
	// The events of early versions of raymond contain the CLI's version without its title, because there
	// was no other CLI.
	a.CLI = strings.TrimPrefix(a.CLI, cliTitle+" ")
	return a, err
}

// prepareConversation prepares the transcript that an order's conversation continues. If the order says
// that the transcript is to be cut back, but there is none, it returns a note.
func (b *Backend) prepareConversation(o runner.Order) (notes []string, _ *runner.Failure) {
	_, path, fail := transcriptsOf(b.Env).Prepare(o.Prompt, o.Dir)
	if fail == nil && path == "" && o.Prompt.Cut != nil {
		notes = []string{fmt.Sprintf("session %s has no transcript, so nothing was cut back", o.Prompt.SessionID)}
	}
	return notes, fail
}

// newTurn returns the invocation for an order.
func (b *Backend) newTurn(o runner.Order, report func(runner.Progress)) program.Turn {
	s := newStream(o, report)
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

// Source describes the CLI's program. The oldest supported version is the first one with all features
// that this package needs.
func (b *Backend) Source() program.Source {
	return program.Source{
		Backend: protocol.BackendClaude, Title: cliTitle, Name: "claude", HowTo: Pin.HowTo(),
		Oldest: program.Version{2, 1, 221}, Env: b.env(runner.Order{}),
	}
}
