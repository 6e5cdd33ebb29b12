package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// keygenCommand makes a key for the input state-key.
func (a *App) keygenCommand() *cobra.Command {
	return &cobra.Command{
		Use: "keygen", Short: "print a new state key, which encrypts and signs checkpoints", Args: cobra.NoArgs,
		Long: "keygen prints a key for the Action's input state-key. Keep it as a secret of the repository.\n" +
			"To rotate, put the new key on a line above the old one.",
		RunE: func(*cobra.Command, []string) error {
			key, err := checkpoint.NewKey()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, key)
			return err
		},
	}
}

// judgeCheckpoint gives the errors of reading a checkpoint their class; nil for
// others.
func judgeCheckpoint(err error) *fault {
	var invalid *checkpoint.Invalid
	switch {
	case errors.Is(err, checkpoint.ErrSealed):
		return &fault{class: classDenied, where: "checkpoint", what: err.Error()}
	case errors.Is(err, checkpoint.ErrNotSigned):
		return &fault{class: classBadState, where: "checkpoint", what: err.Error(), hint: "where state-key is new, run once with resume: never"}
	case errors.Is(err, artifacts.ErrDigest), errors.Is(err, artifacts.ErrTooLarge):
		return &fault{class: classBadState, where: "checkpoint", what: err.Error()}
	case errors.As(err, &invalid):
		return &fault{class: classBadState, where: "checkpoint", what: err.Error(), hint: "it is left as it is; resume: never begins a new run"}
	}
	return nil
}
