package action

import (
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/conversations"
	"github.com/raymond-action/raymond-action/state"
)

// begun is a run that is in its place on this machine, and ready to be driven.
type begun struct {
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
func (b *begun) options() state.Options {
	if b.changed != nil {
		return *b.changed
	}
	return b.run.Options
}

// beginning is what a run that is resumed was found as, and becomes.
type beginning struct {
	lookup
	*begun
}
