package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/action"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// App is the program. Only main accesses the arguments, environment and streams of the process; App gets
// them as fields.
type App struct {
	Args    []string // without the program's name
	Environ []string
	Stdin   *os.File // nil if no user can type
	Stdout  io.Writer
	Stderr  io.Writer

	flags   map[*cobra.Command]*options.Options // the options of each command
	unknown []error                             // problems with flags that the command doesn't have
}

// Getenv returns a variable of the program's environment.
func (a *App) Getenv(name string) string { return action.Env{Environ: a.Environ}.Getenv(name) }

// newOptions returns options that define the flags of cmd. Unknown flags become problems of the options.
func (a *App) newOptions(cmd *cobra.Command) *options.Options {
	o := options.New(cmd.Flags())
	o.Reject(a.unknown...)
	a.flags[cmd] = o
	return o
}

// commandNames returns the names of a command's subcommands.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return names
}

// warn prints a warning to stderr.
func (a *App) warn(line string) {
	fmt.Fprintln(a.Stderr, "raymond: warning: "+text.Escape(problem.CutMiddle(line)))
}

// checkPath returns an error of class usage unless the arguments are exactly one path.
func (a *App) checkPath(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return problem.Usage("PATH", "is missing", "name a directory, a zip archive or a state file")
	}
	if _, err := os.Stat(args[0]); err != nil && !cmd.HasParent() {
		abs, _ := filepath.Abs(args[0])
		what := fmt.Sprintf("%q is not a command, file or directory: %s does not exist", args[0], abs)
		return problem.Usage("PATH", what, didYouMean(args[0], commandNames(cmd.Root()), "raymond "))
	}
	if len(args) > 1 {
		return problem.Usage("PATH", fmt.Sprintf("%d arguments are given, expected one", len(args)), "quote names with blanks")
	}
	return nil
}

// consoleOptions returns the options for showing a run on the console. id is the workflow id for hints on
// how to resume the run. It is empty if the run can't be resumed.
func (a *App) consoleOptions(o *options.Options, id string) report.ConsoleOptions {
	opt := report.ConsoleOptions{Quiet: o.Quiet, Verbose: o.Verbose(), WorkflowID: id}
	if f, ok := a.Stderr.(*os.File); ok {
		opt.Width, opt.Terminal = report.TerminalWidth(f)
	}
	opt.Color = opt.Terminal && a.Getenv("NO_COLOR") == ""
	return opt
}

// checkID returns an error of class usage unless the arguments are exactly one workflow id.
func checkID(args []string) error {
	switch {
	case len(args) == 0:
		return problem.Usage("WORKFLOW_ID", "is missing", "raymond list shows the runs")
	case len(args) > 1:
		return problem.Usage("WORKFLOW_ID", fmt.Sprintf("%d arguments are given, expected one", len(args)), "")
	case !state.ValidID(args[0]):
		return problem.Usage("WORKFLOW_ID", fmt.Sprintf("%q is not a workflow id", problem.Shorten(args[0])), "raymond list shows the runs")
	}
	return nil
}

// onRun makes cmd check its flags and arguments, and call do with the workflow id that its argument names.
func onRun(cmd *cobra.Command, o *options.Options, do func(id string) error) {
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := errors.Join(o.Check(), checkID(args)); err != nil {
			return err
		}
		return do(args[0])
	}
}

// parseID accepts the value of a flag if it is a workflow id.
func parseID(s string) (string, error) {
	if !state.ValidID(s) {
		return s, errors.New("is not a workflow id; raymond list shows the runs")
	}
	return s, nil
}

// didYouMean returns a hint with the known name that is most similar to name, after prefix. If no name is
// similar, it returns "see --help".
func didYouMean(name string, known []string, prefix string) string {
	best := protocol.Nearest(name, known)
	if at := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, name) }); best == "" && at >= 0 && name != "" {
		best = known[at] // the user may have abbreviated the name
	}
	if best == "" {
		return "see --help"
	}
	return "did you mean " + prefix + best + "?"
}
