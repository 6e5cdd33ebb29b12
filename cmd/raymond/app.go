package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

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
	args, unknown := a.Args, []error(nil)
	for {
		err := a.execute(args, unknown)
		var flag *unknownFlag
		if !errors.As(err, &flag) {
			return a.explain(err)
		}
		unknown = append(unknown, flag.fault)
		rest := slices.DeleteFunc(slices.Clone(args), flag.is)
		if len(rest) == len(args) {
			return a.explain(errors.Join(unknown...))
		}
		args = rest
	}
}

// execute runs the command that args name. When unknown has faults it starts
// nothing, and returns them with whatever else is wrong.
func (a *App) execute(args []string, unknown []error) error {
	root := a.commands()
	root.SetArgs(args)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	checkArguments(root)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		a.addCompletion()
	}
	if len(unknown) == 0 {
		return root.Execute()
	}
	cmd, _, err := root.Find(args)
	o := a.flags[cmd]
	if err != nil || o == nil {
		return errors.Join(unknown...)
	}
	o.Reject(unknown...)
	return root.Execute()
}

// explain prints what went wrong, a line each, and returns the exit code.
func (a *App) explain(err error) int {
	code := 0
	for _, f := range problem.All(err) {
		if code == 0 {
			code = f.ExitCode()
		}
		if !f.Told {
			fmt.Fprintln(a.Stderr, "raymond: "+f.Error())
		}
	}
	return code
}

func (a *App) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "raymond PATH",
		Short: "run workflows of coding-agent prompts and scripts",
		Long: "raymond runs a workflow: a folder of states, each a prompt for a coding agent, such as\n" +
			"Claude Code, or a script, which name the next state. It survives being killed: raymond\n" +
			"resume continues exactly where the run stopped.",
		Version:       toldVersion(),
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
		a.keygenCommand(), a.initCommand(), a.cageCommand(), a.actionCommand(runTool), a.actionPostCommand())
	root.AddCommand(environmentTopic(), exitCodesTopic())
	root.SetFlagErrorFunc(a.flagFault)
	return root
}

// unknownFlag is a flag that a command does not have. The flag library stops at
// the first.
type unknownFlag struct {
	fault error
	short string // without the dash; "" for a long flag
	name  string // without the dashes
}

func (u *unknownFlag) Error() string { return u.fault.Error() }

// is reports whether arg is the flag.
func (u *unknownFlag) is(arg string) bool {
	if u.short != "" {
		return arg == "-"+u.short
	}
	name, _, _ := strings.Cut(arg, "=")
	return name == "--"+u.name
}

// flagFault words an error of the flag library.
func (a *App) flagFault(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		fault := problem.Usage("arguments", strings.TrimPrefix(err.Error(), "flag "), "see "+cmd.CommandPath()+" --help")
		var bare *pflag.ValueRequiredError
		if errors.As(err, &bare) {
			fault = problem.Usage("--"+bare.GetSpecifiedName(), "needs a value", "see "+cmd.CommandPath()+" --help")
		}
		if o := a.flags[cmd]; o != nil {
			o.Reject(fault)
			return o.Check()
		}
		return fault
	}
	u := &unknownFlag{name: missing.GetSpecifiedName(), short: missing.GetSpecifiedShortnames()}
	flag := "--" + u.name
	if u.short != "" {
		flag = "-" + u.short
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	u.fault = problem.Usage(flag, "is no flag of "+cmd.CommandPath(), didYouMean(u.name, known, "--"))
	return u
}

// runTool runs a command of the program for a step of a job.
func runTool(t action.Tool) int {
	return (&App{Args: t.Args, Environ: t.Environ, Stdout: t.Stdout, Stderr: t.Stderr}).Main()
}
