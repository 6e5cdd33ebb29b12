package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

func (a *App) diagramCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "diagram PATH", Short: "draw a workflow as a Mermaid flowchart",
		Long: "diagram prints a workflow, a directory, a zip archive or a state file, as a Mermaid flowchart,\n" +
			"which GitHub renders in a code block of the language mermaid. With --run it shows the path\n" +
			"of a run, how often it took each arrow, and where it failed; PATH may then be left out.",
	}
	o := a.newOptions(cmd)
	run := ""
	o.Add("run", "WORKFLOW_ID", "show what this run did", options.Into(&run, anID))
	o.AddStateDir()
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 || len(args) == 0 && !o.IsGiven("run") {
			o.Reject(problem.Usage("PATH", fmt.Sprintf("%d arguments are given, want one", len(args)),
				"name a directory, a zip archive or a state file"))
		}
		if err := o.Check(); err != nil {
			return err
		}
		return a.diagram(o.StateDir, run, args)
	}
	return cmd
}

// diagram draws a workflow that may be wrong, as long as it has an entry: a
// drawing helps to see what is.
func (a *App) diagram(stateDir, id string, args []string) error {
	var path *diagram.Path
	if id != "" {
		run, err := state.Read(stateDir, id)
		if err != nil {
			return err
		}
		m, err := runs.ReadModel(stateDir, run)
		if err != nil {
			return err
		}
		path = m.Path()
		args = append(args, run.Scope)
	}
	s, err := scope.Find(args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	s.Load()
	if s.Workflow.Entry() == "" {
		return s.StartError
	}
	if s.StartError != nil {
		fmt.Fprintln(a.Stderr, "raymond: warning: the workflow can't be run as it is; raymond lint says why")
	}
	_, err = io.WriteString(a.Stdout, diagram.Draw(s.Workflow, path))
	return err
}
