package claude

import (
	"context"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// Check looks for the CLI: see program.CLI.
func (b *Backend) Check(ctx context.Context, isFree bool) *runner.Failure {
	return b.CLI.Check(ctx, b.source(), isFree)
}

// source is which program the CLI is. Its oldest version is the first one that reports and accepts all that this package
// relies on.
func (b *Backend) source() program.Source {
	return program.Source{
		Backend: protocol.BackendClaude, Title: title, Name: "claude", HowTo: "install it with `npm install -g @anthropic-ai/claude-code`",
		Oldest: program.Version{2, 1, 128}, Env: b.env(nil),
	}
}
