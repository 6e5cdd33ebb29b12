package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/confine"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/cage"
)

func (a *App) cageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cage [flags] -- COMMAND [ARG...]", Short: "run one command in the cage that agents get",
		Long: "cage runs a command under the restrictions of an agent in this directory: the command can read the\n" +
			"system, tools and this directory, can write to this directory and to its own home and temporary\n" +
			"directories, and can't reach other processes. cage ends all processes that the command has started,\n" +
			"and exits with the command's exit code.",
	}
	o := a.newOptions(cmd)
	o.Cage.Mode = options.CageOn
	o.AddCage()
	cmd.Flags().SetInterspersed(false)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			o.Reject(problem.Usage("COMMAND", "is missing", "name it after --, as in raymond cage -- make test"))
		}
		if o.Cage.IsOff() {
			o.Reject(problem.Usage("--cage", "off means no cage", "run the command directly"))
		}
		if err := o.Check(); err != nil {
			return err
		}
		return a.cage(o, args)
	}
	return cmd
}

// cage runs a command in a cage. If the command fails, the error contains its exit code.
func (a *App) cage(o *options.Options, argv []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return problem.OfMachine("working directory", err)
	}
	path, err := exec.LookPath(argv[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return problem.Usage("COMMAND", err.Error(), "")
	}
	cages, err := confine.New(o.Cage, confine.Site{
		Environ: a.Environ, Dir: dir, Workspace: dir,
		Label: o.FlagName, Info: a.warn, Warn: a.warn,
	})
	if err != nil {
		return err
	}
	defer cages.Close()
	cmd := exec.Cmd{Path: path, Args: argv, Env: append(slices.Clone(a.Environ), cages.Env()...), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	code := 0
	if box := cages.Agent(dir); box != nil {
		code, err = box.Supervise(cage.Command{Path: path, Args: argv, Env: cmd.Environ()}) // if a variable is set twice, the later value is used
	} else if err = cmd.Run(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code, err = exit.ExitCode(), nil
		}
	}
	if err != nil {
		return problem.OfMachine(argv[0], err)
	}
	if code != 0 {
		return &problem.Problem{Class: problem.ClassRunFailed, Where: argv[0], What: "ended with " + strconv.Itoa(code), Code: code, IsReported: true}
	}
	return nil
}
