package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/examples"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

func (a *App) initCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "init EXAMPLE [DIR]", Short: "add an example to a repository: its states and its workflow file",
		Long: "init writes the states of an example to .github/raymond/EXAMPLE in DIR (default: this directory), and its\n" +
			"workflow file to .github/workflows/EXAMPLE.yml. If one of the files exists, nothing is written.\n" +
			"The examples: " + strings.Join(examples.Names(), ", ") + ".",
	}
	o, ref := a.newOptions(cmd), ""
	if version != "" {
		ref, _, _ = strings.Cut("v"+strings.TrimPrefix(version, "v"), ".")
	}
	o.Add("ref", "REF", "commit or tag of the action in the workflow file (default: v1 once there is a release)", func(s string) error {
		ref = s
		if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$`).MatchString(s) {
			return errors.New("use a commit or a tag")
		}
		return nil
	})
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 || len(args) > 2:
			o.Reject(problem.Usage("EXAMPLE", fmt.Sprintf("%d arguments are given, expected an example name and, optionally, a directory", len(args)), "examples: "+strings.Join(examples.Names(), ", ")))
		case !slices.Contains(examples.Names(), args[0]):
			o.Reject(problem.Usage("EXAMPLE", fmt.Sprintf("no example named %q", problem.Shorten(args[0])), "examples: "+strings.Join(examples.Names(), ", ")))
		}
		if ref == "" && !o.IsGiven("ref") {
			o.Reject(problem.Usage("--ref", "is missing", "there is no release yet: name the commit that git ls-remote https://github.com/raymond-action/raymond-action HEAD prints"))
		}
		if err := o.Check(); err != nil {
			return err
		}
		return a.init(args[0], ref, append(args, ".")[1])
	}
	return cmd
}

// init writes the files of an example to a directory and prints the next steps. If one of the files
// exists already, it writes nothing and returns an error.
func (a *App) init(name, ref, dir string) error {
	all, err := examples.InRepository(name, ref)
	if err != nil {
		return err
	}
	paths := slices.Sorted(maps.Keys(all))
	var there []error
	for _, path := range paths {
		if _, err := os.Lstat(filepath.Join(dir, path)); err == nil {
			there = append(there, &problem.Problem{Class: problem.ClassConflict, Where: filepath.Join(dir, path), What: "already exists", Hint: "nothing was written; use another directory, or move the file away"})
		}
	}
	if err := errors.Join(there...); err != nil {
		return err
	}
	for _, path := range paths {
		at := filepath.Join(dir, path)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if err == nil {
			err = files.WriteNew(at, all[path], 0o644)
		}
		if err != nil {
			return problem.OfMachine(at, err)
		}
		fmt.Fprintln(a.Stdout, at)
	}
	_, err = io.WriteString(a.Stderr, nextSteps(all[".github/workflows/"+name+".yml"]))
	return err
}

// nextSteps lists the secrets to set and the files to push, and explains the cost of a run.
func nextSteps(workflow []byte) string {
	var needed, may []string
	for _, m := range regexp.MustCompile(`secrets\.([A-Z][A-Z0-9_]*)`).FindAllStringSubmatch(string(workflow), -1) {
		list := &needed
		if m[1] == "RAYMOND_STATE_KEY" {
			list = &may
		}
		if m[1] != "GITHUB_TOKEN" && !slices.Contains(*list, m[1]) {
			*list = append(*list, m[1])
		}
	}
	set, cost := "set: nothing", "cost: only the job's minutes, because no agent runs"
	if len(needed) > 0 {
		most := "10.00"
		if m := regexp.MustCompile(`(?m)^ *budget: "?([0-9.]+)`).FindSubmatch(workflow); m != nil {
			most = string(m[1])
		}
		set, cost = "set: secret "+strings.Join(needed, ", secret "), "cost: at most about $"+most+" for each run, the budget in the workflow file"
	}
	if len(may) > 0 {
		set += "; in a public repository also " + strings.Join(may, ", ") + " (raymond keygen makes one)"
	}
	return set + "\npush: commit .github and push it to the default branch; the workflow file says what starts it\n" + cost + "\n"
}
