package action

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/conversations"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/seal"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/state"
)

// readyRun is a run that is in its place on this machine, and ready to be driven.
type readyRun struct {
	run       *state.Run
	store     *state.File
	isResumed bool
	changed   *state.Options // the options from now on; nil for those of the run
	began     checkpoints.Began
	flow      *flow                // the workflow that it continues with
	base      string               // the commit that the job was checked out at; "" for none
	talks     *conversations.Notes // nil: nobody removes the conversations
	hasWork   bool                 // work that agents may have done was put into the workspace
	checkout  snapshots.Checkout   // zero where no script gets the agents' work
}

// options are those with which the run continues.
func (b *readyRun) options() state.Options {
	if b.changed != nil {
		return *b.changed
	}
	return b.run.Options
}

// placed is a run that is ready, and what was found of it.
type placed struct {
	lookup
	*readyRun
}

// beganFile keeps how a run began beside a run in a folder of the machine.
const beganFile = "began.json"

// baseOf is the commit that the job was checked out at: the remote has it, whatever
// is committed on top of it. It is "" outside of a repository.
func baseOf(ctx context.Context, s *step) string {
	if s.in.Workspace != job.WorkspaceGit || s.isLocal() {
		return ""
	}
	return s.git().Base(ctx, s.dirs.work, s.getenv("GITHUB_SHA"))
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// beginningOf is how a run began that exists.
func beginningOf(s *step, e *earlierRun) checkpoints.Began {
	if e.found != nil {
		m := e.found.Manifest
		return checkpoints.Began{KeyOf: keptKeyOf(s, m.KeyOf), Checkout: m.Checkout, Input: m.Input}
	}
	var b checkpoints.Began
	if err := seal.ReadNote(s.fileOfRun(e.run.WorkflowID, beganFile), &b); err != nil {
		b = checkpoints.Began{}
	}
	b.KeyOf = keptKeyOf(s, b.KeyOf)
	return b
}
