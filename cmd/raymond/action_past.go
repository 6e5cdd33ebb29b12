package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/state"
)

// statesNow is where the states of this job are committed; nil where they are in no
// commit.
func (x *action) statesNow(ctx context.Context) *checkpoint.States {
	if x.isBuiltin() {
		return nil
	}
	source, commit := x.source, ""
	if x.place != "" { // they were taken from a commit
		source, commit = filepath.Join(x.top, x.place), x.workflowCommit()
	}
	at := x.git().Locate(ctx, source)
	if at.Commit == "" {
		return nil
	}
	return &checkpoint.States{Commit: cmp.Or(commit, at.Commit), Path: at.Path}
}

// workflowCommit is the commit of the workflow's own ref that started the job.
func (x *action) workflowCommit() string {
	return cmp.Or(x.app.Getenv("GITHUB_WORKFLOW_SHA"), x.app.Getenv("GITHUB_SHA"))
}

// began is how a run began: what a later part of it is told by its checkpoints.
type began struct {
	States   *checkpoint.States `json:"states,omitempty"`   // nil when unknown
	Checkout string             `json:"checkout,omitempty"` // the commit of the checkout; "" when unknown
	Input    string             `json:"input,omitempty"`    // SHA-256 of it, in hex; "" when unknown
}

// beganFile keeps it beside a run in a folder of the machine.
const beganFile = "began.json"

// beginning is how a run of this job begins.
func (x *action) beginning(ctx context.Context) began {
	return began{States: x.statesNow(ctx), Checkout: x.base, Input: digestOf(x.in.Input)}
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// began is how the run began that is taken up.
func (x *action) beginningOf(t *taken) began {
	if t.found != nil {
		m := t.found.Manifest
		return began{m.States, m.Checkout, m.Input}
	}
	var b began
	if err := readNote(x.fileOfRun(t.run.WorkflowID, beganFile), &b); err != nil {
		return began{}
	}
	return b
}

// goesOn is how a run began, for those who take it up after this job: with other
// states from now on, if it takes those of now.
func (x *action) goesOn(ctx context.Context, t *taken) began {
	b := x.beginningOf(t)
	if !t.oldStates && (b.States == nil || len(changedFiles(t.run, x.scope)) > 0) {
		b.States = x.statesNow(ctx)
	}
	return b
}

// otherWays are what is left where a run can't go on with its own states.
const otherWays = "changed-workflow: take goes on with the states as they are now, changed-workflow: new begins a new run"

// reopenPast makes the states that a run began with those of this job. They are read
// from their commit, never from what an artifact holds, and have to be what the run
// recorded of them.
func (x *action) reopenPast(ctx context.Context, t *taken) error {
	was := x.beginningOf(t).States
	if was == nil {
		return x.noPast(t, "its checkpoint names no commit that has them: they were never committed, or an older version stored it")
	}
	dir := filepath.Join(x.dir, "past")
	name := was.Path
	if isStateFile(name) {
		name = path.Dir(name) // its neighbours are its workflow
	}
	past := x.pastOf(ctx, t, was)
	past.Name = name
	err := os.RemoveAll(dir)
	if err == nil {
		err = x.git().Recall(ctx, past, dir)
	}
	var foreign *workspace.NotOurs
	switch {
	case errors.As(err, &foreign):
		return &problem.Problem{Class: problem.ClassDenied, Where: "input changed-workflow", What: fmt.Sprintf(
			"the workflow of run %s has changed, and %s, nor of its pull request's own branch, so that the states it began with are not taken from there", t.run.WorkflowID, err),
			Hint: otherWays}
	case err != nil:
		return x.noPast(t, err.Error())
	}
	return x.usePast(t, dir, was)
}

// usePast opens the states of a past commit in place of those of now.
func (x *action) usePast(t *taken, dir string, was *checkpoint.States) error {
	old, err := openScope(filepath.Join(dir, filepath.FromSlash(was.Path)))
	if err == nil && old.faulty != nil {
		old.close()
		err = old.faulty
	}
	if err != nil {
		return x.noPast(t, err.Error())
	}
	if changed := changedFiles(t.run, old); len(changed) > 0 {
		old.close()
		return x.noPast(t, fmt.Sprintf("commit %s has not what the run began with in %s: that was never committed", was.Commit, strings.Join(changed, ", ")))
	}
	if x.place == "" {
		if rel, err := filepath.Rel(x.top, x.source); err == nil {
			x.place = rel
		}
	}
	x.scope.close()
	x.scope = old
	x.spareStates(old.workflow.Names())
	return nil
}

// noPast says why a run can't go on with the states that it began with.
func (x *action) noPast(t *taken, why string) error {
	return &problem.Problem{Class: problem.ClassConflict, Where: "input changed-workflow",
		What: fmt.Sprintf("the workflow of run %s has changed, and the states that it began with can't be had: %s", t.run.WorkflowID, why), Hint: otherWays}
}

// isStateFile reports whether a path names one state, not a folder or an archive.
func isStateFile(name string) bool {
	return slices.Contains([]string{".md", ".sh", ".bat", ".ps1"}, strings.ToLower(path.Ext(name)))
}

// pastOf says which history is believed: that of the workflow's own ref, and that of
// the branch of this repository that the run was started on.
func (x *action) pastOf(ctx context.Context, t *taken, was *checkpoint.States) workspace.Past {
	p := workspace.Past{
		Dir: x.top, Commit: was.Commit, Temp: x.dir, Repository: x.event.Repository.Name,
		ServerURL: x.app.Getenv("GITHUB_SERVER_URL"), Token: x.in.GitHubToken,
	}
	if dir := filepath.Dir(x.source); x.place == "" && filepath.IsAbs(dir) {
		p.Dir = dir
	}
	for _, commit := range []string{x.app.Getenv("GITHUB_WORKFLOW_SHA"), x.app.Getenv("GITHUB_SHA")} {
		if commit != "" && !slices.Contains(p.Trusted, commit) {
			p.Trusted = append(p.Trusted, commit)
		}
	}
	if _, ref, ok := strings.Cut(x.app.Getenv("GITHUB_WORKFLOW_REF"), "@refs/"); ok && !x.event.Fork {
		p.Refs = append(p.Refs, "refs/"+ref)
	}
	archive := x.services.archive
	if t.found == nil || archive == nil {
		return p
	}
	run, err := archive.Run(ctx, t.found.Manifest.RunID)
	if err == nil && x.isHome(run) && run.HeadBranch != "" {
		p.Refs = append(p.Refs, "refs/heads/"+run.HeadBranch)
		p.IsOwn = func(ctx context.Context, commit string) bool { return x.wasHead(ctx, commit, run) }
	}
	return p
}

// isHome reports whether the code of a workflow run is of this repository.
func (x *action) isHome(run artifacts.RunInfo) bool {
	return run.HeadRepository == x.event.Repository.ID && run.HeadRepository != 0 ||
		x.event.Gitea && run.HeadRepository == 0 && !strings.HasPrefix(run.Event, "pull_request")
}

// wasHead reports whether a commit was the head of one of this repository's own
// workflow runs of the same pull request: it may have been forced away since.
func (x *action) wasHead(ctx context.Context, commit string, like artifacts.RunInfo) bool {
	runs, err := x.services.archive.RunsAt(ctx, commit)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(runs, func(r artifacts.RunInfo) bool {
		samePull := slices.Contains(r.PullRequests, x.event.Number) || r.HeadBranch == like.HeadBranch
		return r.HeadCommit == commit && x.isHome(r) && strings.HasPrefix(r.Event, "pull_request") && samePull
	})
}

// differences says what a run that goes on finds different from what it left.
func (x *action) differences(t *taken) {
	was := x.beginningOf(t)
	if t.why != "" {
		x.say(t.why)
	}
	if was.Checkout != "" && x.base != "" && was.Checkout != x.base {
		x.say(fmt.Sprintf("run %s goes on at %s, on the work begun at %s", t.run.WorkflowID, shortCommit(x.base), shortCommit(was.Checkout)))
	}
	if t.found != nil {
		m := t.found.Manifest
		causes := strings.Join(m.Causes(), "; ")
		for _, what := range m.Lacks() {
			switch {
			case t.isOver && what != "workspace": // nobody goes on with a conversation
			case what == "transcripts":
				x.say(fmt.Sprintf("the conversations of %s are missing, and begin anew: %s", strings.Join(talkers(t.run), ", "), causes))
			default:
				x.say("the work in the workspace is missing, and agents find the checkout as it is: " + causes)
			}
		}
	}
	if x.in.Input != "" && was.Input != digestOf(x.in.Input) {
		text := "the input is not taken: run " + t.run.WorkflowID + " goes on with the one that it began with, and resume: never begins a new run"
		x.differs = append(x.differs, sentence(text))
		x.warn(text)
	}
}

// takeMeta gives a run the template variables that are given again: from its next
// state on.
func (x *action) takeMeta(run *state.Run) {
	if len(x.o.meta) == 0 || maps.Equal(run.Meta, x.o.meta) {
		return
	}
	meta := maps.Clone(run.Meta)
	if meta == nil {
		meta = map[string]string{}
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(x.o.meta)) {
		if was, ok := meta[name]; !ok || was != x.o.meta[name] {
			changed = append(changed, name)
		}
		meta[name] = x.o.meta[name]
	}
	run.Meta = meta
	if len(changed) > 0 {
		x.say("meta has changed, and counts from the next state on: " + strings.Join(changed, ", "))
	}
}

// talkers names the agents that have a conversation to go on with.
func talkers(run *state.Run) []string {
	var names []string
	for _, a := range run.Agents {
		if a.Session != nil {
			names = append(names, a.ID)
		}
	}
	if len(names) == 0 {
		return []string{"agents"}
	}
	return names
}

func shortCommit(id string) string { return id[:min(7, len(id))] }
