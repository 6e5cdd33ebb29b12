package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// lookup is where a run was looked for, and what came of it.
type lookup struct {
	services
	found *slots.Found
	taken bool // the run that was found is gone on with
}

// openDepot decides what is stored of a run that begins or goes on, and where.
func (x *action) openDepot(ctx context.Context, d *drive, l lookup) error {
	if l.runtime != nil {
		x.depot = x.newDepot(l.services, d.run.WorkflowID, chain{Began: x.began})
	}
	x.tellLosses()
	if x.depot == nil {
		return nil
	}
	found, standing := l.found, l.found.Existing
	if l.taken {
		m := found.Manifest
		x.depot.chain = chain{
			Began: x.began, Generation: m.Generation, Digest: found.Digest, Seq: m.Seq, Status: m.Status, Name: found.Artifact.Name,
			Base: &checkpoint.Base{ArtifactID: found.Artifact.ID, Digest: found.Digest, RunID: m.RunID},
		}
	} else if x.in.Resume == job.ResumeNever {
		x.depot.ask(ctx) // nobody has looked yet, and nobody waits for it
		return x.depot.note()
	}
	x.depot.chain.Existing = standing
	x.depot.slots.Adopt(standing)
	return x.depot.note()
}

// isForks reports whether the event is a fork's, whose runs nobody takes up.
func (x *action) isForks() bool {
	return x.event.Fork && (strings.HasPrefix(x.event.Name, "pull_request") || x.event.Name == "workflow_run")
}

// What can be said of a run before it begins.
const (
	losesAll  = "the job has no results service (ACTIONS_RUNTIME_TOKEN is not set): nothing is stored, and no later job can go on with this run"
	losesFork = "the event is a fork's: no later job or workflow run can go on with this run, and where it would be suspended it fails"
	losesOpen = "anybody may read the artifacts of this repository, which is public or not known to be private, and no state-key is set: " +
		"conversations of agents and their uncommitted work are not stored, no later job can go on with a run that has any, and where it would be suspended " +
		"it fails; a state-key (raymond keygen makes one) has all of it stored, encrypted"
)

// tellLosses says in one warning, before anything is spent, what can't be done
// later.
func (x *action) tellLosses() {
	switch {
	case x.depot == nil:
		x.losses = append(x.losses, losesAll)
	case x.isForks():
		x.losses = append(x.losses, losesFork)
	case x.scope.hasPrompts() && !x.in.ResumeWithoutTranscript && x.depot.isOpen():
		x.losses = append(x.losses, losesOpen)
	}
	if len(x.losses) > 0 {
		x.warn(strings.Join(x.losses, ". Besides, "))
	}
}

// checkResumable says why no later job could resume a run that is to be suspended.
func (x *action) checkResumable(ctx context.Context, left []*state.Agent) error {
	if x.isForks() {
		return errors.New("its event is a fork's, and runs of forks are never taken up")
	}
	if !x.depot.isOpen() {
		return nil
	}
	var lacks []string
	if !x.in.ResumeWithoutTranscript && slices.ContainsFunc(left, hasConversation) {
		lacks = append(lacks, "conversations")
	}
	if x.hasWork(ctx, left) {
		lacks = append(lacks, "work in the workspace")
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("without a state-key its %s can't be stored where anybody may read artifacts; set the input state-key (raymond keygen makes one)",
		strings.Join(lacks, " and "))
}

func hasConversation(a *state.Agent) bool {
	return a.Session != nil || slices.ContainsFunc(a.Stack, func(f state.Frame) bool { return f.Session != nil })
}

// hasWork reports whether there is work of agents that is in no commit of the
// remote. What can't be looked at counts.
func (x *action) hasWork(ctx context.Context, left []*state.Agent) bool {
	if x.depot.git == nil {
		return false
	}
	wd, err := os.Getwd()
	if err != nil {
		return true
	}
	to, err := os.MkdirTemp(x.dir, "work-")
	if err != nil {
		return true
	}
	defer os.RemoveAll(to)
	saved, err := x.depot.git.Save(ctx, workspace.Saving{Dirs: directories(&state.Run{Dir: wd, Agents: left}), Base: x.base, To: to})
	return err != nil || saved.Held
}

// newDepot is the depot of a run whose chain is not known yet.
func (x *action) newDepot(s services, id string, c chain) *depot {
	d := &depot{
		service: s.runtime, query: x.query(), keys: x.keys, mask: x.mask, isOpen: sync.OnceValue(x.isOpen), dir: filepath.Join(x.dir, id), temp: x.dir, origin: x.origin(),
		base: x.base, chain: c, warn: x.warn,
		slots: slots.NewSlots(slots.SlotsOptions{
			Service: s.runtime, Key: x.key, Retention: time.Duration(x.in.RetentionDays) * 24 * time.Hour,
			Stored: c.Stored, Ours: x.after,
		}),
	}
	if x.in.Workspace == job.WorkspaceGit {
		d.git = x.git()
	}
	return d
}

// isOpen reports whether what is stored can be read by strangers. A repository
// that is not known to be private is taken for a public one.
func (x *action) isOpen() bool {
	if x.keys != nil {
		return false
	}
	if x.event.Repository.Private != nil {
		return !*x.event.Repository.Private
	}
	if x.in.GitHubToken == "" {
		return true
	}
	api, err := x.api()
	if err != nil {
		return true
	}
	private, err := api.Private(context.Background())
	return err != nil || !private
}

// findBase notes the commit that the job was checked out at: the remote has it,
// whatever is committed on top of it. Outside of a repository there is none.
func (x *action) findBase(ctx context.Context) {
	if x.in.Workspace != job.WorkspaceGit || x.in.Store == job.StoreLocal {
		return
	}
	wd, err := os.Getwd()
	if err != nil {
		return
	}
	x.base = x.git().Base(ctx, wd, x.app.Getenv("GITHUB_SHA"))
}
