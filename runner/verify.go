package runner

import (
	"context"

	"github.com/raymond-action/raymond-action/state"
)

// Verifier decides whether an attempt of a state with done_when is done.
type Verifier interface {
	// Ready returns why this machine can't run commands, nil if it can.
	Ready() error
	// Verify runs every command of an order in sequence, also after one has failed, and returns
	// when every process that they started is gone. When ctx is done it stops them and records
	// that in the Verification. It calls report before each command, from the calling goroutine.
	Verify(ctx context.Context, o Order, report func(Progress)) state.Verification
	// SaveProtected returns a digest of each protected file below the directory of an order, and
	// copies the files, within a size limit. Verify restores changed files from the copies.
	SaveProtected(o Order) map[string]string
}

// Checks is the part of an Order that only the verification of an attempt has.
type Checks struct {
	Commands  []string
	Protect   []string
	Protected map[string]string // digests at the start of the state
	Copies    string            // the folder that SaveProtected fills
	LogFile   string            // absolute; replaced
	Attempt   int
	AgentCode int    // exit code of the agent CLI; it is logged but doesn't affect the verdict
	Refused   string // why the agent has no transition, "" if it has one; logged
}
