package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
)

// actionCommand returns a command that runs one phase of a step.
func (a *App) actionCommand(use, short string, phase func(action.Env) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return phase(action.Env{
				Version: version, Environ: a.Environ, Stdout: a.Stdout, Stderr: a.Stderr, Process: action.ThisProcess(), Interval: time.Minute,
				Run: func(t action.Tool) int {
					return (&App{Args: t.Args, Environ: t.Environ, Stdout: t.Stdout, Stderr: t.Stderr}).Main()
				},
			})
		},
	}
}
