package main

import (
	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
)

// actionCommand is the main part of a step of a job.
func (a *App) actionCommand(run func(action.Tool) int) *cobra.Command {
	return &cobra.Command{
		Use: "action", Short: "run a workflow as a step of a job (action.yml starts it)", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return action.Run(a.actionEnv(run)) },
	}
}

// actionPostCommand is the part of a step that runs at the end of its job, however
// the main part ended.
func (a *App) actionPostCommand() *cobra.Command {
	return &cobra.Command{
		Use: "action-post", Short: "store what an interrupted step has not stored (action.yml starts it)", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return action.Post(a.actionEnv(nil)) },
	}
}

// actionEnv is the environment of a step; run runs another command of the program.
func (a *App) actionEnv(run func(action.Tool) int) action.Env {
	return action.Env{
		Version: version, Environ: a.Environ, Stdout: a.Stdout, Stderr: a.Stderr, Run: run, Process: action.ThisProcess(),
	}
}
