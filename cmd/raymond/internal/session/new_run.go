package session

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/protocol/lint"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// NewRun creates the run that the flags and the workflow describe. Its agents begin in dir. NewRun also
// checks the whole workflow, and returns the warnings of lint, one line each.
func NewRun(o *options.Options, s *scope.Scope, dir string) (run *state.Run, warnings []string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, nil, problem.OfMachine("working directory", err)
	}
	r := state.Run{
		WorkflowID: newID(o, s), Mark: newToken(),
		Scope: s.Path, Entry: s.Workflow.Entry(), Dir: dir,
		Files: s.Workflow.Hashes(), Meta: o.Meta, Options: o.ForNewRun(),
	}
	run = state.New(r, o.Input+o.InputFile, time.Now())
	if first, ok := s.Workflow.State(r.Entry); ok && first.OnComment != "" {
		run.KeepLastConversation()
	}
	if err := checkLoop(s, &run.Options); err != nil {
		return nil, nil, err
	}
	go state.WarmUpJSON()
	warnings, err = startCheck(o, s, run)
	if why := s.Workflow.CheckInput(r.Entry, o.Input+o.InputFile); err == nil && why != "" {
		err = problem.Usage("--input", why, "give a payload that it allows")
	}
	return run, warnings, err
}

// startCheck checks the workflow of a run before the run starts, and returns the warnings of lint.
func startCheck(o *options.Options, s *scope.Scope, run *state.Run) (warnings []string, err error) {
	return s.StartCheck(lint.Options{
		Meta: slices.Sorted(maps.Keys(run.Meta)), Loop: len(run.Options.DoneWhen) > 0,
		Backend: run.Options.Backend,
	}, o.SkipLint)
}

// checkLoop makes a plain prompt file repeat until the commands of --done-when succeed. It returns an
// error if the workflow is not a plain prompt file, or if --max-attempts is used without --done-when.
func checkLoop(s *scope.Scope, opt *state.Options) error {
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
	if s.Entry == "" || !s.Workflow.LoopEntry(c) {
		return problem.Usage("--done-when", "is for a plain prompt file, without frontmatter and transition tags",
			"a state of a workflow has done_when in its frontmatter")
	}
	return nil
}

// newID returns the workflow id of a new run. Unless --workflow-id sets it, it begins with at most 40 characters of
// --name or of the name of the workflow, with invalid characters replaced.
func newID(o *options.Options, s *scope.Scope) string {
	invalid := regexp.MustCompile(`[^a-z0-9-]+`)
	prefix := func(name string) string {
		name = strings.Trim(invalid.ReplaceAllString(strings.ToLower(name), "-"), "-")
		return strings.Trim(name[:min(len(name), 40)], "-")
	}
	return cmp.Or(o.WorkflowID, cmp.Or(prefix(o.Name), prefix(s.Name()), "run")+"-"+uuid.NewString()[:8])
}

// Holder returns a line that describes this process, for the lock of a run.
func Holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return journal.HolderLine(os.Getpid(), host, time.Now())
}
