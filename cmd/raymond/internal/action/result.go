package action

import (
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/claims"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/state"
)

// result is what the phases have come to. What they have not reached is empty.
type result struct {
	admission admission
	source    source
	flow      *flow
	remarks   remarks
	store     *checkpoints.Store // nil: nothing is stored
	claim     *claims.Claim
	stops     *session.Stops // nil before the run is driven
	run       *state.Run     // nil before it has been driven
	kept      kept
	page      *page
	jobFile   []byte // the job's workflow file; nil where it can't be read
	next      ask.Outlook
	isIdle    bool // nothing of the run is due, so that it was left alone
}

// sessionsFile has the conversations of a step, in its own folder. Its name is not
// one that a state file could have.
const sessionsFile = "sessions.note"
