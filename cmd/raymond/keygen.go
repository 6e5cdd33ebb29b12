package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// keygenCommand returns the command that prints a new key for the input state-key.
func (a *App) keygenCommand() *cobra.Command {
	return &cobra.Command{
		Use: "keygen", Short: "print a new state key, which encrypts and signs checkpoints", Args: cobra.NoArgs,
		Long: "keygen prints a key for the Action's input state-key. Store it as a secret of the repository.\n" +
			"To rotate keys, put the new key on a line above the old one.",
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
