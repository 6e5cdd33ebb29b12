package action

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/notes"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/protocol"
)

// statesNow is where the states of this job are committed; nil where they are in no
// commit.
func statesNow(ctx context.Context, s *step, from source) *checkpoint.States {
	if s.isBuiltin() {
		return nil
	}
	path, commit := from.path, ""
	if from.place != "" { // they were taken from a commit
		path, commit = filepath.Join(s.dirs.top, from.place), s.workflowCommit()
	}
	at := s.git().Locate(ctx, path)
	if at.Commit == "" {
		return nil
	}
	return &checkpoint.States{Commit: cmp.Or(commit, at.Commit), Path: at.Path}
}

// beganFile keeps how a run began beside a run in a folder of the machine.
const beganFile = "began.json"

// baseOf is the commit that the job was checked out at: the remote has it, whatever
// is committed on top of it. It is "" outside of a repository.
func baseOf(ctx context.Context, s *step) string {
	if s.in.Workspace != job.WorkspaceGit || s.isLocal() {
		return ""
	}
	wd, err := os.Getwd()
	if err != nil {
		return ""
	}
	return s.git().Base(ctx, wd, s.getenv("GITHUB_SHA"))
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// beginningOf is how a run began that exists.
func beginningOf(s *step, e *earlierRun) checkpoints.Began {
	if e.found != nil {
		m := e.found.Manifest
		return checkpoints.Began{KeyOf: keptKeyOf(s, m.KeyOf), States: m.States, Checkout: m.Checkout, Input: m.Input}
	}
	var b checkpoints.Began
	if err := notes.Read(s.fileOfRun(e.run.WorkflowID, beganFile), &b); err != nil {
		b = checkpoints.Began{}
	}
	b.KeyOf = keptKeyOf(s, b.KeyOf)
	return b
}

// otherWays are what is left where a run can't continue with its own states.
const otherWays = "changed-workflow: take continues with the states as they are now, changed-workflow: new starts a new run"

// openPast opens the states that a run began with, in place of those of this job.
// They are read from their commit, never from what an artifact holds, and have to be
// what the run recorded of them.
func openPast(ctx context.Context, s *step, f *flow, l lookup) (*flow, error) {
	e := l.existing
	was := beginningOf(s, e).States
	if was == nil {
		return nil, noPast(e, "its checkpoint names no commit that has them: they were never committed, or an older version stored it")
	}
	dir := filepath.Join(s.dirs.state, "past")
	name := was.Path
	if protocol.IsStateFile(path.Base(name)) {
		name = path.Dir(name) // its neighbours are its workflow
	}
	past := pastOf(ctx, s, f.source, l)
	past.Name, past.Commit = name, was.Commit
	err := os.RemoveAll(dir)
	if err == nil {
		err = s.git().Recall(ctx, past, dir)
	}
	var foreign *workspace.NotOurs
	switch {
	case errors.As(err, &foreign):
		return nil, &problem.Problem{Class: problem.ClassDenied, Where: "input changed-workflow", What: fmt.Sprintf(
			"the workflow of run %s has changed, and %s, nor of its pull request's own branch, so that the states it began with are not taken from there", e.run.WorkflowID, err),
			Hint: otherWays}
	case err != nil:
		return nil, noPast(e, err.Error())
	}
	return usePast(s, f, e, recalled{dir, was})
}

// recalled are states of a past commit, in a folder.
type recalled struct {
	dir string
	at  *checkpoint.States
}

// usePast opens the states of a past commit in place of those of now.
func usePast(s *step, f *flow, e *earlierRun, past recalled) (*flow, error) {
	old, err := scope.Open(filepath.Join(past.dir, filepath.FromSlash(past.at.Path)))
	if err == nil && old.Faulty != nil {
		old.Close()
		err = old.Faulty
	}
	if err != nil {
		return nil, noPast(e, err.Error())
	}
	if changed := session.ChangedFiles(e.run, old); len(changed) > 0 {
		old.Close()
		return nil, noPast(e, fmt.Sprintf("commit %s has not what the run began with in %s: that was never committed", past.at.Commit, strings.Join(changed, ", ")))
	}
	from := f.source
	if from.place == "" {
		if rel, err := filepath.Rel(s.dirs.top, from.path); err == nil {
			from.place = rel
		}
	}
	s.voice.spareStates(old.Workflow.Names())
	return &flow{old, from}, nil
}

// noPast says why a run can't continue with the states that it began with.
func noPast(e *earlierRun, why string) error {
	return &problem.Problem{Class: problem.ClassConflict, Where: "input changed-workflow",
		What: fmt.Sprintf("the workflow of run %s has changed, and the states that it began with can't be had: %s", e.run.WorkflowID, why), Hint: otherWays}
}

// pastOf says which history is believed: that of the workflow's own ref, and that of
// the branch of this repository that the run was started on.
func pastOf(ctx context.Context, s *step, from source, l lookup) workspace.Past {
	p := workspace.Past{
		Dir: s.dirs.top, Temp: s.dirs.state, Repository: s.event.Repository.Name,
		ServerURL: s.getenv("GITHUB_SERVER_URL"), Token: s.in.GitHubToken,
	}
	if dir := filepath.Dir(from.path); from.place == "" && filepath.IsAbs(dir) {
		p.Dir = dir
	}
	for _, commit := range []string{s.getenv("GITHUB_WORKFLOW_SHA"), s.getenv("GITHUB_SHA")} {
		if commit != "" && !slices.Contains(p.Trusted, commit) {
			p.Trusted = append(p.Trusted, commit)
		}
	}
	if _, ref, ok := strings.Cut(s.getenv("GITHUB_WORKFLOW_REF"), "@refs/"); ok && !s.event.Code.Fork {
		p.Refs = append(p.Refs, "refs/"+ref)
	}
	archive := l.services.archive
	if l.existing.found == nil || archive == nil {
		return p
	}
	run, err := archive.Run(ctx, l.existing.found.Manifest.RunID)
	if err == nil && isHome(s, run) && run.HeadBranch != "" {
		p.Refs = append(p.Refs, "refs/heads/"+run.HeadBranch)
		p.IsOwn = func(ctx context.Context, commit string) bool { return wasHead(ctx, s, archive, headOf{commit, run}) }
	}
	return p
}

// isHome reports whether the code of a workflow run is of this repository.
func isHome(s *step, run artifacts.RunInfo) bool {
	return run.HeadRepository == s.event.Repository.ID && run.HeadRepository != 0 ||
		s.event.Gitea && run.HeadRepository == 0 && !strings.HasPrefix(run.Event, "pull_request")
}

// headOf is a commit that may have been the head of a pull request, of which run is
// a workflow run.
type headOf struct {
	commit string
	run    artifacts.RunInfo
}

// wasHead reports whether a commit was the head of one of this repository's own
// workflow runs of the same pull request: it may have been forced away since.
func wasHead(ctx context.Context, s *step, archive *artifacts.Archive, h headOf) bool {
	runs, err := archive.RunsAt(ctx, h.commit)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(runs, func(r artifacts.RunInfo) bool {
		samePull := slices.Contains(r.PullRequests, s.event.Number) || r.HeadBranch == h.run.HeadBranch
		return r.HeadCommit == h.commit && isHome(s, r) && strings.HasPrefix(r.Event, "pull_request") && samePull
	})
}
