package main

import (
	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
)

// actionCommand is the main part of a step of a job.
func (a *App) actionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "action", Short: "run a workflow as a step of a job (action.yml starts it)", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return action.Run(a.actionEnv()) },
	}
}

// actionPostCommand is the part of a step that runs at the end of its job, however
// the main part ended.
func (a *App) actionPostCommand() *cobra.Command {
	return &cobra.Command{
		Use: "action-post", Short: "store what a step that was cut off has not stored (action.yml starts it)", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return action.Post(a.actionEnv()) },
	}
}

func (a *App) actionEnv() action.Env {
	return action.Env{
		Version: version, Environ: a.Environ, Stdout: a.Stdout, Stderr: a.Stderr,
		Run: func(t action.Tool) int {
			return (&App{Args: t.Args, Environ: t.Environ, Stdout: t.Stdout, Stderr: t.Stderr}).Main()
		},
	}
}
