package shell

import (
	"context"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// Adopt makes this process inherit what its children leave behind, so that it
// can end it. To be called once, before the first run.
func Adopt() error { return proc.Adopt() }

// Sweep ends every process that a run of the given mark left behind on this
// machine, scripts and agents alike, and returns how many there were. To be
// called before a run that may have crashed goes on.
func Sweep(ctx context.Context, mark string) (int, error) {
	return proc.Sweep(ctx, runner.MarkVar, mark)
}

// Redactor returns a function that replaces in a text the values of the secrets
// in an environment.
func Redactor(env []string) func(string) string { return proc.Redactor(env) }

// Secrets returns those variables of env whose names say that they hold secrets.
func Secrets(env []string) map[string]string { return proc.Secrets(env) }
