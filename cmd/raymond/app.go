package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/protocol"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Main runs the program and returns its exit code.
func (a *App) Main() (code int) {
	defer func() {
		if p := recover(); p != nil {
			code = a.explain(fmt.Errorf("internal error: %v\n%s", p, debug.Stack()))
		}
	}()
	for args := a.Args; ; {
		root := a.commands()
		root.SetArgs(args)
		root.InitDefaultHelpCmd()
		root.InitDefaultCompletionCmd(args...)
		checkArguments(root)
		err := root.Execute() // if a.unknown is not empty, a command with options only reports problems
		flag, isUnknown := errors.AsType[*unknownFlag](err)
		if !isUnknown {
			return a.explain(err)
		}
		// The flag library stops at the first unknown flag. The next iteration leaves that flag out, to
		// find more problems.
		a.unknown = append(a.unknown, flag.error)
		at := slices.IndexFunc(args, flag.matches)
		if at < 0 {
			return a.explain(errors.Join(a.unknown...))
		}
		end := at + 1
		if end < len(args) && args[at] == flag.arg && flag.takesValue(args[end]) {
			end++
		}
		args = slices.Delete(slices.Clone(args), at, end)
	}
}

// explain prints each problem in err on one line. It returns the exit code of the first problem, or 0.
func (a *App) explain(err error) int {
	code := 0
	for _, f := range problem.Flatten(err) {
		if code == 0 {
			code = f.ExitCode()
		}
		if !f.IsReported {
			fmt.Fprintln(a.Stderr, "raymond: "+f.Error())
		}
	}
	return code
}

// commands returns the root command with all subcommands.
func (a *App) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "raymond PATH",
		Short: "run workflows of coding-agent prompts and scripts",
		Long: "raymond runs a workflow: a directory of states. Each state is a prompt for a coding agent, such as\n" +
			"Claude Code, or a script, and ends by naming the next state. After an interruption, raymond resume\n" +
			"continues exactly where the run stopped.",
		Version:       shownVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	a.flags = map[*cobra.Command]*options.Options{}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	a.addRun(root)
	run := &cobra.Command{Use: "run PATH", Short: "start a workflow from a directory, a zip archive or one state file"}
	a.addRun(run)
	root.AddCommand(run, a.resumeCommand(), a.rerunCommand(), a.listCommand(), a.statusCommand(), a.historyCommand(), a.reportCommand(), a.lintCommand(), a.diagramCommand(), a.simulateCommand(),
		a.keygenCommand(), a.initCommand(), a.cageCommand(),
		a.actionCommand("action", "run a workflow as a step of a job (for action.yml)", action.Run),
		// The post phase runs at the end of the job, whether or not the main phase succeeded.
		a.actionCommand("action-post", "store what an interrupted step has not stored (for action.yml)", action.Post))
	root.AddCommand(topics()...)
	root.SetFlagErrorFunc(a.flagProblem)
	return root
}

// unknownFlag is the error for a flag that a command with options doesn't have.
type unknownFlag struct {
	error
	arg   string      // the flag with its dashes
	meant *pflag.Flag // the known flag that it resembles, or nil
}

// takesValue reports whether the next argument is probably the flag's value. If the flag resembles a
// known flag, it takes a value if the known one does. Otherwise, next is a value if it is neither a flag
// nor an existing file.
func (u *unknownFlag) takesValue(next string) bool {
	if u.meant != nil {
		return u.meant.NoOptDefVal == ""
	}
	_, err := os.Stat(next)
	return err != nil && !strings.HasPrefix(next, "-")
}

// matches reports whether an argument of the command line is this flag, with or without "=value".
func (u *unknownFlag) matches(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return arg == u.arg || strings.HasPrefix(u.arg, "--") && name == u.arg
}

// flagProblem converts an error of the flag library to a problem. For an unknown flag of a command with
// options, it returns an unknownFlag.
func (a *App) flagProblem(cmd *cobra.Command, err error) error {
	o, help := a.flags[cmd], "see "+cmd.CommandPath()+" --help"
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		flag := "--" + missing.GetSpecifiedName()
		if short := missing.GetSpecifiedShortnames(); short != "" {
			flag = "-" + short
		}
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		fault := problem.Usage(flag, "is not a flag of "+cmd.CommandPath(), didYouMean(missing.GetSpecifiedName(), known, "--"))
		if o == nil {
			return fault
		}
		return &unknownFlag{fault, flag, cmd.Flags().Lookup(protocol.Nearest(missing.GetSpecifiedName(), known))}
	}
	fault := problem.Usage("arguments", strings.TrimPrefix(err.Error(), "flag "), help)
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		fault = problem.Usage("--"+bare.GetSpecifiedName(), "needs a value", help)
	}
	if o == nil {
		return fault
	}
	o.Reject(fault)
	return o.Check()
}
