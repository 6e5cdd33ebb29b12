package action

import (
	"bytes"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// runTool runs the command for a mode that starts no agent.
func runTool(j *Job, s *scratch, from source) error {
	args := []string{j.in.Mode, inWorkspace(s.dirs, from.path)}
	switch j.in.Mode {
	case job.ModeLint:
		args = append(args, "--format=github")
		for key := range j.options.Meta {
			args = append(args, "--meta="+key)
		}
		if backend := j.options.ForNewRun().Backend; backend != "" {
			args = append(args, "--agent="+backend)
		}
		for _, arg := range job.Arguments(j.env.Getenv) {
			if name, file, _ := cutFlag(arg); name == "prices" {
				args = append(args, "--prices="+within(s.top, file))
			}
		}
	case job.ModeSimulate:
		replies, err := s.named("replies", s.work, j.in.Replies)
		if err != nil {
			return err
		}
		if s.isTainted(from.path, j.in.Replies) {
			return taintProblem()
		}
		if err := s.taint(nil); err != nil {
			return problem.OfMachine("RUNNER_TEMP", err)
		}
		args = append(args, "--replies="+inWorkspace(s.dirs, replies))
		args = append(args, simulated(j.env.Getenv, j.in.Input)...)
	}
	var out bytes.Buffer
	// A simulation runs scripts without a cage, so they get only the variables that agents may see.
	env := job.ScriptEnviron(inheritedEnviron(j.env, j.in), j.in.Env)
	tool := Tool{Args: args, Environ: env, Stdout: &out, Stderr: &out}
	if j.in.Mode == job.ModeLint {
		s.log.out.Close() // the annotations of lint are workflow commands
		tool.Stdout = j.env.Stdout
	}
	code := j.env.Run(tool)
	showOutput(j.in, s.files, s.log, out.String())
	for class, c := range problem.ExitCodes {
		if c == code { // the tool has reported the problem itself
			return &problem.Problem{Class: class, Code: code, IsReported: true}
		}
	}
	return nil
}

// inWorkspace returns a path for annotations: relative to the workspace, if this leads to the same
// file.
func inWorkspace(d dirs, path string) string {
	rel, err := filepath.Rel(d.top, path)
	if err != nil || d.work != filepath.Clean(d.top) || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}

// simulated returns the inputs for which raymond simulate has flags, as flags.
func simulated(getenv func(string) string, input string) []string {
	known := pflag.NewFlagSet("simulate", pflag.ContinueOnError)
	options.New(known).AddSimulated()
	var args []string
	for _, arg := range job.Arguments(getenv) {
		if name, _, _ := cutFlag(arg); known.Lookup(name) != nil {
			args = append(args, arg)
		}
	}
	if input != "" {
		args = append(args, "--input="+input)
	}
	return args
}

// showOutput shows the output of a tool in the log and the summary.
func showOutput(in job.Settings, files *job.Files, log *jobLog, out string) {
	if out == "" {
		return
	}
	out = log.shown(out)
	log.print(out)
	language := map[string]string{job.ModeDiagram: "mermaid"}[in.Mode]
	if err := files.WriteSummary(text.Fence(out, language)); err != nil {
		log.Warn("step summary: " + err.Error())
	}
}
