package main

import (
	"fmt"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/spf13/cobra"
)

// checkArguments makes arguments that a command does not take errors of class
// usage, on the flag library's own commands too: it words them as errors of no
// class, or shows its help as if nothing were wrong.
func checkArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		checkArguments(c)
		switch check := c.Args; {
		case c.HasSubCommands() && !c.Runnable():
			c.Args, c.RunE = cobra.ArbitraryArgs, onlySubcommands
		case c.Name() == "help":
			c.Args = knownCommand
		case check != nil:
			c.Args = func(c *cobra.Command, args []string) error {
				if len(args) == 0 || check(c, args) == nil {
					return nil
				}
				return problem.Usage("arguments", fmt.Sprintf("%q is given, and %s takes none", problem.Shorten(args[0]), c.CommandPath()),
					"see "+c.CommandPath()+" --help")
			}
		}
	}
}

// onlySubcommands is run where a command that does nothing by itself is named.
func onlySubcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return unknownCommand(cmd, args[0])
}

// knownCommand checks that help is asked for a command that exists.
func knownCommand(cmd *cobra.Command, args []string) error {
	at := cmd.Root()
	for _, name := range args {
		next, _, err := at.Find([]string{name})
		if err != nil || next == at {
			return unknownCommand(at, name)
		}
		at = next
	}
	return nil
}

// unknownCommand says that cmd has no such subcommand.
func unknownCommand(cmd *cobra.Command, name string) error {
	return problem.Usage("arguments", fmt.Sprintf("%q is no command of %s", problem.Shorten(name), cmd.CommandPath()),
		didYouMean(name, commandNames(cmd), cmd.CommandPath()+" "))
}
