package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
)

// actionCommand returns the command that runs the main phase of a step. run runs another command of the
// program.
func (a *App) actionCommand(run func(action.Tool) int) *cobra.Command {
	return &cobra.Command{
		Use: "action", Short: "run a workflow as a step of a job (for action.yml)", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return action.Run(a.actionEnv(run)) },
	}
}

// actionPostCommand returns the command that runs the post phase of a step. It runs at the end of the
// job, whether or not the main phase succeeded.
func (a *App) actionPostCommand() *cobra.Command {
	return &cobra.Command{
		Use: "action-post", Short: "store what an interrupted step has not stored (for action.yml)", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return action.Post(a.actionEnv(nil)) },
	}
}

// actionEnv returns the environment of a step. run runs another command of the program.
func (a *App) actionEnv(run func(action.Tool) int) action.Env {
	return action.Env{
		Version: version, Environ: a.Environ, Stdout: a.Stdout, Stderr: a.Stderr, Run: run, Process: action.ThisProcess(), Interval: time.Minute,
	}
}
