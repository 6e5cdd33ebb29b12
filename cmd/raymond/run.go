package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// addRun makes cmd start a workflow.
func (a *App) addRun(cmd *cobra.Command) {
	o := a.addFlags(cmd)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && !cmd.HasParent() && len(o.set)+len(o.errs) == 0 {
			return cmd.Help()
		}
		return errors.Join(o.check(), a.run(cmd, o, args))
	}
}

// run starts a workflow. Nothing is started when a flag is wrong, but what is
// wrong with the path is told in the same go.
func (a *App) run(cmd *cobra.Command, o *options, args []string) error {
	if len(args) != 1 {
		return a.pathFault(cmd, args)
	}
	if _, err := os.Stat(args[0]); err != nil && !cmd.HasParent() {
		return a.pathFault(cmd, args)
	}
	if len(o.errs) > 0 {
		return badPath(args[0])
	}
	scope, err := openScope(args[0])
	if err != nil {
		return err
	}
	defer scope.close()
	run, err := o.newRun(scope)
	if err != nil {
		return err
	}
	if err := loop(scope, &run.Options); err != nil {
		return err
	}
	if err := a.examine(o, scope, len(run.Options.DoneWhen) > 0); err != nil {
		return err
	}
	store, err := state.Create(o.stateDir, run.WorkflowID, holder())
	if err != nil {
		return err
	}
	defer store.Close()
	d := &drive{app: a, o: o, host: a.shellHost(o), scope: scope, store: store, run: run}
	return d.drive()
}

// badPath says what is wrong with a path that names no workflow, beside flags that
// are wrong too.
func badPath(path string) error {
	s, err := findScope(path)
	if err == nil {
		s.close()
	}
	return err
}

// loop makes a plain prompt a state that repeats until --done-when is met.
func loop(s *scope, opt *state.Options) error {
	if len(opt.DoneWhen) == 0 {
		if opt.MaxAttempts > 0 {
			return problem.Usage("--max-attempts", "needs --done-when", "a state of a workflow has max_attempts in its frontmatter")
		}
		return nil
	}
	c := protocol.NewConvergence(opt.DoneWhen)
	if opt.MaxAttempts > 0 {
		c.MaxAttempts = opt.MaxAttempts
	}
	if s.entry == "" || !s.workflow.Loop(c) {
		return problem.Usage("--done-when", "is for a plain prompt file, without frontmatter and transition tags",
			"a state of a workflow has done_when in its frontmatter")
	}
	return nil
}

// pathFault says what is wrong with the arguments of run.
func (a *App) pathFault(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return problem.Usage("PATH", "is missing", "name a directory, a zip archive or a state file")
	}
	var names []string
	for _, c := range cmd.Root().Commands() {
		names = append(names, c.Name())
	}
	if _, err := os.Stat(args[0]); err != nil && !cmd.HasParent() {
		what := fmt.Sprintf("%q is no command, file or directory", args[0])
		return problem.Usage("PATH", what, didYouMean(args[0], names, "raymond "))
	}
	return problem.Usage("PATH", fmt.Sprintf("%d arguments are given, want one", len(args)), "quote names with blanks")
}

// newRun makes the run that the flags and the workflow describe.
func (o *options) newRun(s *scope) (*state.Run, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassRuntime, Where: "working directory", What: err.Error()}
	}
	r := state.Run{
		WorkflowID: o.workflowID, Mark: strings.ReplaceAll(uuid.NewString(), "-", ""),
		Scope: s.path, Entry: s.workflow.Entry(), Dir: dir,
		Files: s.workflow.Hashes(), Meta: o.meta, Options: defaults(),
	}
	for _, change := range o.over {
		change(&r.Options)
	}
	if r.WorkflowID == "" {
		r.WorkflowID = idPrefix(o.name, s.name()) + "-" + uuid.NewString()[:8]
	}
	return state.New(r, o.input+o.inputFile, time.Now()), nil
}

var notID = regexp.MustCompile(`[^a-z0-9-]+`)

// idPrefix is the readable part of a workflow id: the name, or the scope's, with
// what ids can't hold replaced, at most 40 characters.
func idPrefix(name, scope string) string {
	for _, s := range []string{name, scope} {
		s = strings.Trim(notID.ReplaceAllString(strings.ToLower(s), "-"), "-")
		if len(s) > 40 {
			s = strings.Trim(s[:40], "-")
		}
		if s != "" {
			return s
		}
	}
	return "run"
}

// holder names this process in the lock of a run.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return state.Holder(os.Getpid(), host, time.Now())
}

// resumeCommand goes on with a run.
func (a *App) resumeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "resume WORKFLOW_ID", Short: "go on with a run where it stopped"}
	o := a.addFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		for _, name := range []string{"input", "input-file", "meta", "name", "workflow-id"} {
			if o.set[name] {
				o.errs = append(o.errs, problem.Usage("--"+name, "can't be changed by a resume", "start a new run for it"))
			}
		}
		if err := o.check(); err != nil {
			return errors.Join(err, needID(args))
		}
		if err := needID(args); err != nil {
			return err
		}
		return a.resume(o, args[0])
	}
	return cmd
}

func needID(args []string) error {
	switch {
	case len(args) == 0:
		return problem.Usage("WORKFLOW_ID", "is missing", "raymond list shows the runs")
	case len(args) > 1:
		return problem.Usage("WORKFLOW_ID", fmt.Sprintf("%d arguments are given, want one", len(args)), "")
	case !state.ValidID(args[0]):
		return problem.Usage("WORKFLOW_ID", fmt.Sprintf("%q is no workflow id", problem.Shorten(args[0])), "raymond list shows the runs")
	}
	return nil
}

func (a *App) resume(o *options, id string) error {
	store, run, err := state.Open(o.stateDir, id, holder())
	if err != nil {
		return err
	}
	defer store.Close()
	if run.Progress.Status == state.Completed {
		return a.showCompleted(o, run)
	}
	scope, err := reopen(run)
	if err != nil {
		return err
	}
	defer scope.close()
	if !o.allowChanged {
		if err := unchanged(run, scope); err != nil {
			return err
		}
	}
	options := run.Options
	for _, change := range o.over {
		change(&options)
	}
	if err := loop(scope, &options); err != nil {
		return err
	}
	if err := errors.Join(standing(run, scope, filepath.Join(o.stateDir, id+".json")), looping(run, scope)); err != nil {
		return err
	}
	d := &drive{app: a, o: o, host: a.shellHost(o), scope: scope, store: store, run: run, resumed: true, override: &options}
	return d.drive()
}

// reopen opens the scope that a run was started from.
func reopen(run *state.Run) (*scope, error) {
	s, err := openScope(run.Scope)
	if err != nil {
		return nil, err
	}
	if filepath.Dir(run.Scope) != filepath.Dir(s.path) {
		return nil, &problem.Problem{Class: problem.ClassConflict, Where: run.Scope, What: "is not where the run was started from"}
	}
	return s, nil
}

// unchanged refuses to go on when a file that the run has used, or stands at, is
// not what it was.
func unchanged(run *state.Run, s *scope) error {
	now := s.workflow.Hashes()
	var out []error
	for name := range needed(run) {
		if now[name] != run.Files[name] {
			out = append(out, &problem.Problem{Class: problem.ClassConflict, Where: name, What: "has changed since the run started",
				Hint: "put it back, or go on with --allow-changed-workflow"})
		}
	}
	return errors.Join(out...)
}

// needed names the files that a run has used, stands at or returns to.
func needed(run *state.Run) map[string]bool {
	names := map[string]bool{}
	for _, n := range run.Used {
		names[n] = true
	}
	for _, p := range run.Places() {
		names[p.State] = true
	}
	return names
}

// standing refuses to go on when a state at which an agent stands, or to which it
// will come, is gone or can't be run. file is the run's state file.
func standing(run *state.Run, s *scope, file string) error {
	var out []error
	for _, p := range run.Places() {
		st, ok := s.workflow.State(p.State)
		switch {
		case ok:
			out = append(out, problem.OfWorkflow(s.path, st.Problems))
		case run.Files[p.State] == "":
			out = append(out, &state.FileError{Path: file, Field: p.Field, What: fmt.Sprintf("%q is no state of the workflow", problem.Shorten(p.State))})
		default:
			out = append(out, &problem.Problem{Class: problem.ClassWorkflow, Where: p.State, What: "is gone, and the run stands at it"})
		}
	}
	return errors.Join(out...)
}

// looping refuses to go on when an agent is between the attempts of a state that
// has no commands any more.
func looping(run *state.Run, s *scope) error {
	var out []error
	for _, a := range run.Agents {
		st, ok := s.workflow.State(a.State)
		if !ok || a.Exec == nil {
			continue
		}
		if st.Policy.Convergence == nil && (a.Exec.Attempt > 1 || a.Exec.Phase == state.PhaseVerify) {
			out = append(out, &problem.Problem{Class: problem.ClassWorkflow, Where: a.State, What: "has no done_when any more, and an agent is in the midst of its attempts"})
		}
	}
	return errors.Join(out...)
}
