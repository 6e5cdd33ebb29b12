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
		Long: "lint checks workflows: directories, zip archives or single state files. It exits with 7 if something\n" +
			"must be fixed before a run, and with 0 if there are only warnings and hints.\n\n" +
			"With --workflow-file it also compares the steps of a GitHub workflow file with the workflows, and\n" +
			"reports what a step would refuse when it starts: unknown inputs, invalid values, a missing key, a\n" +
			"checkout that keeps its token, missing permissions. Without PATH it then checks the workflows that\n" +
			"the steps name.",
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
	o.Add("meta", "KEY", "a key that runs get with --meta (repeatable)", options.Into(&l.Meta, options.Each(options.MetaKey)))
	o.Add("agent", "NAME", "the agent of runs: "+strings.Join(protocol.Backends(), ", ")+" (default "+protocol.Backends()[0]+")",
		options.Into(&l.Backend, options.OneOf(protocol.Backends()...)))
	o.Add("workflow-file", "FILE", "a GitHub workflow file whose steps are compared with the workflow (repeatable)",
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
