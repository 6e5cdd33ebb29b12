package main

import (
	"fmt"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/spf13/cobra"
)

// checkArguments makes cmd and its subcommands return an error of class usage for unexpected arguments.
// The commands that the flag library adds would otherwise print their help, or return an error without a
// class.
func checkArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		checkArguments(c)
		switch check := c.Args; {
		case c.HasSubCommands() && !c.Runnable():
			c.Args, c.RunE = cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
				if len(args) == 0 {
					return c.Help()
				}
				return unknownCommand(c, args[0])
			}
		case c.Name() == "help":
			c.Args = knownCommand
		case check != nil:
			c.Args = func(c *cobra.Command, args []string) error {
				if len(args) == 0 || check(c, args) == nil {
					return nil
				}
				return problem.Usage("arguments", fmt.Sprintf("%q: %s takes no arguments", problem.Shorten(args[0]), c.CommandPath()),
					"see "+c.CommandPath()+" --help")
			}
		}
	}
}

// knownCommand returns an error of class usage if the arguments of the help command name no command.
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

// unknownCommand returns the error that cmd has no subcommand with this name.
func unknownCommand(cmd *cobra.Command, name string) error {
	return problem.Usage("arguments", fmt.Sprintf("%q is not a command of %s", problem.Shorten(name), cmd.CommandPath()),
		didYouMean(name, commandNames(cmd), cmd.CommandPath()+" "))
}
