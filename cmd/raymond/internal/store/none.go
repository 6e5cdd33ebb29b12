package store

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// none is the store of a job without a results service. It finds runs of other workflow runs, but
// stores nothing.
type none struct{ artifactStore }

// Limitations implements Store.
func (s *none) Limitations(bool) []string { return []string{losesAll} }

// Claim implements Store.
func (s *none) Claim(Key) (Lease, error) { return s.View(), nil }

// Reopen implements Store.
func (s *none) Reopen(n Note) (Lease, error) {
	return &unstored{checkpoints: checkpoints{c: &s.Config, agents: n.Agents, isLost: true}, id: n.WorkflowID}, s.Services.Err
}

// unstored is the lease of a run that is not stored.
type unstored struct {
	checkpoints
	noClaim
	id string // the run that Reopen names
}

// noClaim has the methods of a Lease for a key that is not claimed.
type noClaim struct{}

// Wait implements Lease.
func (noClaim) Wait(context.Context, time.Duration) error { return nil }

// Lost implements Lease.
func (noClaim) Lost() <-chan string { return nil }

// Release implements Lease.
func (noClaim) Release(context.Context) error { return nil }

// Offer implements runner.Checkpoints.
func (l *unstored) Offer(*state.Run, time.Time) bool { return true }

// Stored implements runner.Checkpoints.
func (l *unstored) Stored() <-chan *state.Checkpoint { return nil }

// CheckResumable implements runner.Checkpoints. The run may be suspended: the warning at its
// beginning says that no later job can resume it.
func (l *unstored) CheckResumable([]*state.Agent) error { return nil }

// Restore implements Lease.
func (l *unstored) Restore(ctx context.Context, found *Lookup, to Target) (*journal.File, *state.Run, error) {
	if l.id != "" {
		return l.c.openLeft(l.id)
	}
	return l.restore(ctx, found, to)
}
