package main

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner/checkpoint"
	"github.com/raymond-action/raymond-action/runner/keep"
)

// lookup is where a run was looked for, and what came of it.
type lookup struct {
	services
	found *keep.Found
	taken bool // the run that was found is gone on with
}

// openDepot decides what is stored of a run that begins or goes on, and where.
func (x *action) openDepot(ctx context.Context, d *drive, l lookup) error {
	if l.runtime == nil {
		x.warn("the job has no results service (ACTIONS_RUNTIME_TOKEN is not set): nothing is stored, and no later job can go on with this run")
		return nil
	}
	x.depot = x.newDepot(l.services, d.run.WorkflowID, chain{})
	found, standing := l.found, l.found.Standing
	if l.taken {
		m := found.Manifest
		x.depot.chain = chain{
			Generation: m.Generation, Digest: found.Digest, Seq: m.Seq, Status: m.Status, Name: found.Artifact.Name,
			Base: &checkpoint.Base{ArtifactID: found.Artifact.ID, Digest: found.Digest, RunID: m.RunID},
		}
	} else if x.in.Resume == job.ResumeNever {
		x.depot.ask(ctx) // nobody has looked yet, and nobody waits for it
		return x.depot.note()
	}
	x.depot.chain.Standing = standing
	x.depot.slots.Adopt(standing)
	return x.depot.note()
}

// newDepot is the depot of a run whose chain is not known yet.
func (x *action) newDepot(s services, id string, c chain) *depot {
	d := &depot{
		service: s.runtime, query: x.query(), keys: x.keys, mask: x.mask, isOpen: sync.OnceValue(x.isOpen), dir: filepath.Join(x.dir, id), temp: x.dir, origin: x.origin(),
		base: x.base, chain: c,
		slots: keep.NewSlots(keep.SlotsOptions{
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
	if x.event.Private != nil {
		return !*x.event.Private
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
