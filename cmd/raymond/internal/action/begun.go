package action

import (
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/conversations"
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
