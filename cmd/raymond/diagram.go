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
	"github.com/raymond-action/raymond-action/state/journal"
)

func (a *App) diagramCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "diagram PATH", Short: "draw a workflow as a Mermaid flowchart",
		Long: "diagram prints a workflow (a directory, a zip archive or a state file) as a Mermaid flowchart, which\n" +
			"GitHub renders in a code block with the language mermaid. With --run it shows the path of a run: how\n" +
			"often it took each arrow, and where it failed. PATH may then be omitted.",
	}
	o := a.newOptions(cmd)
	run := ""
	o.Add("run", "WORKFLOW_ID", "show the path of this run", options.Into(&run, parseID))
	o.AddStateDir()
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 || len(args) == 0 && !o.IsGiven("run") {
			o.Reject(problem.Usage("PATH", fmt.Sprintf("%d arguments are given, expected one", len(args)),
				"name a directory, a zip archive or a state file"))
		}
		if err := o.Check(); err != nil {
			return err
		}
		return a.diagram(o.StateDir, run, args)
	}
	return cmd
}

// diagram prints a diagram of a workflow. The workflow must have an entry. It may have errors, because a
// diagram helps to find them.
func (a *App) diagram(stateDir, id string, args []string) error {
	var path *diagram.Path
	if id != "" {
		run, err := journal.Read(stateDir, id)
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
		fmt.Fprintln(a.Stderr, "raymond: warning: the workflow has errors and can't be run; raymond lint shows them")
	}
	_, err = io.WriteString(a.Stdout, diagram.Draw(s.Workflow, path))
	return err
}
