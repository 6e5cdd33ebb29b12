package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// claim is this step's hold on a key. It is taken beside the run: scripts don't
// wait for it, and the first prompt does for a time.
type claim struct {
	claimer *slots.Claimer
	stop    chan string // ends the run
	end     context.CancelFunc
	ended   chan struct{}
	decided chan struct{} // closed when the claim stands, or is another's
	begun   time.Time

	mu    sync.Mutex // guards what follows, and the claimer
	stood bool
	lost  func()          // is told of a conflict, once
	taken *slots.Conflict // by somebody else; nil: not
}

// claimWait is how long the first prompt waits for the claim.
const claimWait = 10 * time.Second

// Between two tries to claim a key where the service fails.
const (
	firstClaimRetry = 5 * time.Second
	lastClaimRetry  = time.Minute
)

// stoppedByClaim is what ends a run whose key is another's.
const stoppedByClaim = "a conflict: another job drives a run with this key"

// newClaimer says who claims a key.
func (x *action) newClaimer(s services, key string) *slots.Claimer {
	origin := x.origin()
	holder := s.runtime.Job()
	if x.underAct() { // whose token names the workflow run twice
		holder = "act " + x.app.Getenv("GITHUB_JOB") + " " + x.in.Matrix
	}
	mine := slots.Claim{
		ID: x.note.Claim, Key: key, Holder: holder, RunID: origin.RunID, Attempt: origin.RunAttempt, Job: origin.Job, Step: x.partName(),
		Runner: x.app.Getenv("RUNNER_NAME"), RunURL: x.runURL(), Created: time.Now().UTC(), Process: thisProcess(),
	}
	if x.o.deadline > 0 {
		mine.Deadline = mine.Created.Add(x.o.deadline)
	}
	query := x.query()
	query.Key = key
	finder := &slots.Finder{}
	if s.archive != nil {
		finder.Archive = s.archive
	}
	return &slots.Claimer{
		Service: s.runtime, Mine: mine, Temp: x.own, Retention: time.Duration(x.in.RetentionDays) * 24 * time.Hour,
		Replaces:  query.SameIDs,
		Elsewhere: func(ctx context.Context) ([]slots.Claim, error) { return finder.Claims(ctx, query) },
		Ended:     finder.Ended,
		Alive: func(p slots.Process) (alive, known bool) {
			if here := thisProcess(); here.Machine == "" || p.Machine != here.Machine {
				return false, false
			}
			return p.Started != "" && startOf(p.PID) == p.Started, true
		},
	}
}

// partName tells this use of the action from the others of its job.
func (x *action) partName() string { return x.own[strings.LastIndexAny(x.own, `/\`)+1:] }

// runURL is the page of this workflow run; "" where it isn't known.
func (x *action) runURL() string {
	site, id := x.site(), x.app.Getenv("GITHUB_RUN_ID")
	if site == "" || id == "" {
		return ""
	}
	return site + "actions/runs/" + id
}

// beginClaim claims the key beside the run.
func (x *action) beginClaim(d *drive, s services) error {
	if x.claim == nil { // else it was claimed before the run was taken up
		c, err := x.startClaim(s, x.key)
		if err != nil {
			return err
		}
		x.claim = c
	}
	x.claim.mu.Lock()
	x.claim.lost = x.loseKey
	isLost := x.claim.taken != nil // it was quick
	x.claim.mu.Unlock()
	if isLost {
		x.loseKey()
	}
	noted := d.host.prompts
	d.host.prompts = func(b runner.Backend) runner.Backend { return x.claim.guard(noted(b)) }
	d.host.stop, x.depot.check = x.claim.stop, x.claim.check
	return nil
}

// startClaim begins to claim a key.
func (x *action) startClaim(s services, key string) (*claim, error) {
	x.note.Claim = uuid.NewString()
	if err := x.keepNote(); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	c := &claim{
		claimer: x.newClaimer(s, key), stop: make(chan string, 1), end: end, ended: make(chan struct{}),
		decided: make(chan struct{}), begun: time.Now(),
	}
	go func() {
		defer close(c.ended)
		c.take(ctx, x.warn)
	}()
	return c, nil
}

// claimWide claims the key that all legs of a matrix would share, for a run that
// one of them finds under it; nil when another leg has it.
func (x *action) claimWide(ctx context.Context, s services) (*claim, error) {
	if s.runtime == nil {
		return nil, nil
	}
	c, err := x.startClaim(s, x.wide)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(claimWait)
	defer late.Stop()
	select {
	case <-c.decided:
	case <-late.C:
	}
	if c.conflict() == nil {
		return c, nil
	}
	return nil, c.release(ctx)
}

// loseKey notes that nothing of the run is stored, neither here nor by the post
// part.
func (x *action) loseKey() {
	x.note.Lost = true
	if err := x.keepNote(); err != nil {
		x.warn(err.Error())
	}
}

// take claims the key, again and again where the service fails.
func (c *claim) take(ctx context.Context, warn func(string)) {
	for pause, warned := firstClaimRetry, false; ; pause = min(2*pause, lastClaimRetry) {
		c.mu.Lock()
		err := c.claimer.Take(ctx)
		c.stood = err == nil
		c.mu.Unlock()
		var conflict *slots.Conflict
		switch {
		case err == nil:
			close(c.decided)
			return
		case errors.As(err, &conflict):
			c.lose(conflict)
			close(c.decided)
			return
		case ctx.Err() != nil:
			return
		case !warned:
			warned = true
			warn(fmt.Sprintf("the run's key could not be claimed, and the run goes on: %v; until it is, another job may drive a run with the same key", err))
		}
		if forge.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// lose ends the run: the key is another's.
func (c *claim) lose(conflict *slots.Conflict) {
	c.mu.Lock()
	first, lost := c.taken == nil, c.lost
	c.taken = conflict
	c.mu.Unlock()
	if !first {
		return
	}
	if lost != nil {
		lost()
	}
	select {
	case c.stop <- stoppedByClaim:
	default:
	}
}

// conflict is who has the key instead; nil when nobody has.
func (c *claim) conflict() *slots.Conflict {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken
}

// check looks whether the claim still stands, before something is stored.
func (c *claim) check(ctx context.Context) error {
	if c == nil {
		return nil
	}
	if taken := c.conflict(); taken != nil {
		return taken
	}
	c.mu.Lock()
	stood := c.stood
	var err error
	if stood {
		err = c.claimer.Check(ctx)
	}
	c.mu.Unlock()
	var conflict *slots.Conflict
	if errors.As(err, &conflict) {
		c.lose(conflict)
		return err
	}
	return nil // a service that fails does so at the save too
}

// release gives the key up.
func (c *claim) release(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.end()
	<-c.ended
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claimer.Release(ctx)
}

// guard has prompts wait for the claim.
func (c *claim) guard(b runner.Backend) runner.Backend { return &claimed{b, c} }

// claimed is a backend of prompts, none of which starts before the key is known to
// be the run's own, or the service took too long to say so.
type claimed struct {
	runner.Backend
	claim *claim
}

// Run implements runner.Backend.
func (b *claimed) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	late := time.NewTimer(time.Until(b.claim.begun.Add(claimWait)))
	defer late.Stop()
	select {
	case <-b.claim.decided:
	case <-late.C:
	case <-ctx.Done():
	}
	if b.claim.conflict() != nil {
		<-ctx.Done() // the run is about to be ended
		return runner.Answer{ExitCode: -1, Cost: state.Cost{Silent: true}}, &runner.Failure{Class: runner.Stopped, Message: "not started: another job drives a run with this key"}
	}
	return b.Backend.Run(ctx, o, tell)
}
