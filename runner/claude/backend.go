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

// Backend runs prompts with the Claude Code CLI. It implements runner.Backend. The CLI gets the variables in
// Env and, unless Env sets them, the variables in switches (command.go).
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
	// Early versions of raymond supported no other CLI, so their events contain the CLI's version without the
	// CLI's title. Events still have that format.
	a.CLI = strings.TrimPrefix(a.CLI, cliTitle+" ")
	return a, err
}

// prepareConversation prepares the transcript that an order's conversation continues. It returns a note if
// the order requests to cut back a transcript that doesn't exist.
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
