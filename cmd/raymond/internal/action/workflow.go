package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/examples"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// builtinPrefix is the prefix of an input workflow that names an example. The program contains the
// examples, so that a repository needs only one workflow file, and their states are as trusted as
// the program.
const builtinPrefix = "builtin:"

// isBuiltin reports whether the workflow comes with the program.
func isBuiltin(workflow string) bool { return strings.HasPrefix(workflow, builtinPrefix) }

// source is the location from which the workflow is read.
type source struct {
	path   string
	origin string // its path in the repository, if path is a copy of it; "" otherwise
}

// workflow is an open workflow with its source.
type workflow struct {
	*scope.Scope
	source source
}

// openWorkflow opens the workflow of a source. It refuses a workflow whose agents are certain to have
// no credentials.
func openWorkflow(j *Job, s *scratch, from source) (*workflow, error) {
	opened, err := scope.Open(from.path)
	if err != nil {
		return nil, err
	}
	s.log.exemptStates(opened.Workflow.Names())
	err = opened.StartError
	if err == nil {
		err = errors.Join(checkCredentials(j, opened), checkAccess(j, s, opened))
	}
	if err != nil {
		opened.Close()
		return nil, err
	}
	return &workflow{opened, from}, nil
}

// fileOf returns the path of a state's file in the repository, or "" if it is not in the
// repository.
func (w *workflow) fileOf(top, name string) string {
	st, ok := w.Workflow.State(name)
	rel, err := w.source.origin, error(nil)
	if rel == "" {
		rel, err = filepath.Rel(top, w.Path)
	}
	if !ok || err != nil || !filepath.IsLocal(rel) || strings.EqualFold(filepath.Ext(rel), ".zip") {
		return ""
	}
	if w.Entry != "" {
		rel = filepath.Dir(rel)
	}
	return path.Join(filepath.ToSlash(rel), st.Name)
}

// findSource finds the workflow among the examples of the action, in the workspace, or in the
// working directory.
func findSource(d dirs, name string, log *jobLog) (source, error) {
	if name == "" {
		return source{}, nil // reported already
	}
	if isBuiltin(name) {
		return unpackBuiltin(d, name, log)
	}
	for _, dir := range []string{d.top, d.work} {
		if _, err := os.Stat(within(dir, name)); err == nil {
			path, err := d.named("workflow", dir, name)
			return source{path: path}, err
		}
	}
	return source{}, problem.Usage("input workflow", fmt.Sprintf("%q: there is no such file or directory", name),
		"name a directory, a zip archive or a state file of the workspace, and check out the repository first")
}

// unpackBuiltin unpacks an example. Users don't know the path of the copy, so the log shows the
// name from the input instead.
func unpackBuiltin(d dirs, workflow string, log *jobLog) (source, error) {
	name := strings.TrimPrefix(workflow, builtinPrefix)
	names, _ := fs.Glob(examples.Files, "*")
	if !slices.Contains(names, name) {
		return source{}, problem.Usage("input workflow", fmt.Sprintf("%q: the action has no such workflow", workflow), "it has "+strings.Join(names, ", "))
	}
	files, _ := fs.Sub(examples.Files, name)
	path := filepath.Join(d.own, "builtin", name)
	if err := errors.Join(os.RemoveAll(path), os.CopyFS(path, files)); err != nil {
		return source{}, problem.OfMachine("input workflow", err)
	}
	log.showAs(path, workflow)
	return source{path: path}, nil
}

// trustedSource returns where the states are read from if the checkout is not trusted: from the
// workflow's own commit. It refuses a file of prices in the checkout.
func trustedSource(ctx context.Context, j *Job, s *scratch, from source) (source, error) {
	file := job.InputValue(j.env.Getenv, "prices")
	if file != "" && cage.IsWithin(cage.Resolve(within(s.top, file)), cage.Resolve(s.top)) {
		return from, &problem.Problem{Class: problem.ClassDenied, Where: "input prices", What: "the checkout isn't trusted and contains the file",
			Hint: "check out the workflow's own ref, name a file outside of the checkout, or set trust-checkout: true"}
	}
	if isBuiltin(j.in.Workflow) {
		return from, nil
	}
	return committedSource(ctx, j, s, from)
}

// committedSource returns a copy of the source from the workflow's own commit, because states of an
// untrusted checkout must not run.
func committedSource(ctx context.Context, j *Job, s *scratch, from source) (source, error) {
	deny := func(what string) error {
		return &problem.Problem{Class: problem.ClassDenied, Where: "input workflow", What: "the checkout isn't trusted, and " + what,
			Hint: "check out the workflow's own ref, or set trust-checkout: true"}
	}
	rel, err := filepath.Rel(s.top, from.path)
	if err != nil || !filepath.IsLocal(rel) {
		return from, deny("the workflow is not in the workspace")
	}
	commit := cmp.Or(j.env.Getenv("GITHUB_WORKFLOW_SHA"), j.env.Getenv("GITHUB_SHA")) // the commit of the workflow's own ref, which started the job
	dir := filepath.Join(s.own, "source")
	part := workspace.CommitPath{Dir: s.top, Commit: commit, Name: rel}
	if err := errors.Join(os.RemoveAll(dir), s.git.Extract(ctx, part, dir)); err != nil {
		return from, deny(fmt.Sprintf("the states can't be read from commit %q: %v", commit, err))
	}
	return source{path: filepath.Join(dir, rel), origin: rel}, nil
}

// nextOnComment returns the state in which a run begins that follows a completed one; "" for none.
func (w *workflow) nextOnComment() string {
	first, _ := w.Workflow.State(w.Workflow.Entry())
	return first.OnComment
}

// expectsPrompts reports whether a run has executed a prompt, or its workflow's files lead to one.
func (w *workflow) expectsPrompts(run *state.Run) bool { return w.LeadsToPrompt() || run.HasPrompted() }

// mayAsk reports whether a state of a workflow may ask people something, or comments may continue
// its runs.
func mayAsk(w *protocol.Workflow) bool {
	return slices.ContainsFunc(w.Names(), func(name string) bool {
		st, _ := w.State(name)
		return st.OnComment != "" || strings.Contains(st.Body, "<ask") || slices.Contains(st.Policy.Transitions.Tags, protocol.Ask) ||
			slices.ContainsFunc(st.Policy.Transitions.Allowed, func(r protocol.Rule) bool { return r.Tag == protocol.Ask })
	})
}

// asksStrangers reports whether a state of a workflow may ask people who may not start it.
func asksStrangers(w *protocol.Workflow) bool {
	return slices.ContainsFunc(w.Names(), func(name string) bool {
		st, _ := w.State(name)
		return st.Kind == protocol.Script && strings.Contains(st.Body, "untrusted=") ||
			slices.ContainsFunc(st.Policy.Transitions.Allowed, func(r protocol.Rule) bool { return r.Tag == protocol.Ask && r.Attrs["untrusted"] == "true" })
	})
}

// maxJobFile is the maximum size in bytes of the job's workflow file.
const maxJobFile = 1 << 20

// readJobFile reads the job's workflow file from a trusted checkout before agents can change it, or
// returns nil if it can't. The content is only used for texts for users.
func readJobFile(j *Job, top string) []byte {
	file := filepath.FromSlash(j.event.Workflow)
	if !j.isTrusted || !filepath.IsLocal(file) || j.in.IsCalled { // for a called workflow, the job is in another file
		return nil
	}
	data, _, err := files.Read(filepath.Join(top, file), maxJobFile)
	if err != nil {
		return nil
	}
	return data
}
