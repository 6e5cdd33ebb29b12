package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// version is set by the release build.
var version = "dev"

// App is the program. Only main reads the process's own arguments, environment
// and streams.
type App struct {
	Args    []string // without the program's name
	Environ []string
	Stdout  io.Writer
	Stderr  io.Writer

	options map[*cobra.Command]*options // the flags of each command
}

// Main runs the program and returns its exit code.
func (a *App) Main() (code int) {
	defer func() {
		if p := recover(); p != nil {
			code = a.explain(fmt.Errorf("internal error: %v\n%s", p, debug.Stack()))
		}
	}()
	err := a.unknownFlags(a.commands())
	if err == nil {
		err = a.commands().Execute()
	}
	return a.explain(err)
}

// Getenv returns a variable of the program's environment.
func (a *App) Getenv(name string) string {
	value := ""
	for _, kv := range a.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// explain prints what went wrong, a line each, and returns the exit code.
func (a *App) explain(err error) int {
	code := 0
	for _, f := range faults(err) {
		if code == 0 {
			code = f.exitCode()
		}
		if line := f.Error(); line != "" {
			fmt.Fprintln(a.Stderr, "raymond: "+line)
		}
	}
	return code
}

func (a *App) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "raymond PATH",
		Short: "run workflows of coding-agent prompts and scripts",
		Long: "raymond runs a workflow: a folder of states, each a prompt for the Claude Code CLI or a\n" +
			"script, that name what comes next. It survives being killed: raymond resume goes on\n" +
			"exactly where the run stopped.",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	a.options = map[*cobra.Command]*options{}
	root.SetArgs(a.Args)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetVersionTemplate("raymond {{.Version}}\n")
	a.addRun(root)
	run := &cobra.Command{Use: "run PATH", Short: "start a workflow from a directory, a zip archive or one state file"}
	a.addRun(run)
	root.AddCommand(run, a.resumeCommand(), a.listCommand(), a.statusCommand())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagFault(cmd, err) })
	return root
}

// unknownFlags reports every flag that no command has, and every bad value of
// the others, in one go: the flag library would stop at the first.
func (a *App) unknownFlags(root *cobra.Command) error {
	if len(a.Args) > 0 && strings.HasPrefix(a.Args[0], cobra.ShellCompRequestCmd) {
		return nil // what is being completed is not finished
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(a.Args...)
	cmd, rest, err := root.Find(a.Args)
	if err != nil {
		return usage("arguments", err.Error(), "see raymond --help")
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var found []error
	for {
		var missing *pflag.NotExistError
		err := cmd.ParseFlags(rest)
		if !errors.As(err, &missing) {
			break
		}
		found = append(found, flagFault(cmd, err))
		rest = slices.DeleteFunc(slices.Clone(rest), func(arg string) bool { return isFlag(arg, missing) })
	}
	if o := a.options[cmd]; o != nil && len(found) > 0 {
		found = append(found, o.errs...)
	}
	return errors.Join(found...)
}

// isFlag reports whether arg is the flag that does not exist.
func isFlag(arg string, missing *pflag.NotExistError) bool {
	if short := missing.GetSpecifiedShortnames(); short != "" {
		return arg == "-"+short
	}
	name, _, _ := strings.Cut(arg, "=")
	return name == "--"+missing.GetSpecifiedName()
}

// flagFault words an error of the flag library.
func flagFault(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return usage("arguments", strings.TrimPrefix(err.Error(), "flag "), "see "+cmd.CommandPath()+" --help")
	}
	name := missing.GetSpecifiedName()
	flag := "--" + name
	if short := missing.GetSpecifiedShortnames(); short != "" {
		flag = "-" + short
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return usage(flag, "is no flag of "+cmd.CommandPath(), didYouMean(name, known, "--"))
}

// didYouMean is the hint that names the nearest of the known names.
func didYouMean(name string, known []string, prefix string) string {
	best, distance := "", len(name)/2+2
	for _, k := range known {
		if d := editDistance(name, k); d < distance || (d == distance && best == "") {
			best, distance = k, d
		}
	}
	if best == "" {
		return "see --help"
	}
	return "did you mean " + prefix + best + "?"
}

// editDistance is the number of insertions, deletions and replacements between
// two names.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
