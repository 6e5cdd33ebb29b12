package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/protocol"
)

func (a *App) lintCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "lint PATH...", Short: "check workflows without running them",
		Long: "lint checks workflows: directories, zip archives or single state files. It exits with 7\n" +
			"when something must be fixed before a run, with 0 when there are only warnings and hints.\n\n" +
			"With --workflow-file it also finds what in a workflow file of GitHub Actions does not fit\n" +
			"them, and what a step would refuse at its start: unknown inputs, wrong values, a missing key,\n" +
			"a checkout that keeps its token, missing permissions. Without PATH it then checks the\n" +
			"workflows that the steps of the file name.",
	}
	o, l := a.newOptions(cmd), &runs.Lint{Platforms: []protocol.Platform{scope.Platform()}}
	o.Add("format", "FORMAT", "text, json, or github for annotations (default text)", options.Into(&l.Format, options.OneOf(runs.LintFormats...)))
	o.Add("platform", "NAME", "unix, windows or all (default: this one)", func(s string) error {
		l.Platforms = []protocol.Platform{protocol.Platform(s)}
		if s == "all" {
			l.Platforms = []protocol.Platform{protocol.Unix, protocol.Windows}
		}
		_, err := options.OneOf("unix", "windows", "all")(s)
		return err
	})
	o.Add("meta", "KEY", "a key that runs are given with --meta (repeatable)", options.Into(&l.Meta, options.Each(options.MetaKey)))
	o.Add("agent", "NAME", "the agent of runs: "+strings.Join(protocol.Backends(), ", ")+" (default "+protocol.Backends()[0]+")",
		options.Into(&l.Backend, options.OneOf(protocol.Backends()...)))
	o.Add("workflow-file", "FILE", "a workflow file of GitHub Actions, whose steps are compared with the workflow (repeatable)",
		options.Into(&l.JobFiles, options.Each(options.NotEmpty)))
	o.Switch("strict", "count warnings as errors, for CI", options.Into(&l.Strict, options.ParseBool))
	o.AddPrices()
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		l.Prices = session.Prices(o.ForNewRun())
		if len(args) == 0 && len(l.JobFiles) == 0 {
			o.Reject(problem.Usage("PATH", "is missing", "name directories, zip archives or state files"))
		}
		return l.Check(a.Stdout, args, o.Check())
	}
	return cmd
}
