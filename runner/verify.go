package runner

import (
	"context"

	"github.com/raymond-action/raymond-action/state"
)

// Verifier decides whether an attempt of a state with done_when was successful.
type Verifier interface {
	// Ready returns why this machine can't run commands, or nil if it can.
	Ready() error
	// Verify runs every command of an order in sequence, even if one of them fails. It returns
	// when every process that the commands started is gone. When ctx is done, it stops them and
	// records that in the Verification. It calls report before each command, from the calling
	// goroutine.
	Verify(ctx context.Context, o Order, report func(Progress)) state.Verification
	// SaveProtected returns a digest of each protected file in the directory of an order. It also
	// copies the files, up to a size limit. Verify restores changed files from the copies.
	SaveProtected(o Order) map[string]string
}

// Checks contains the fields of an Order that only the verification of an attempt has.
type Checks struct {
	Commands  []string
	Protect   []string
	Protected map[string]string // digests of the protected files when the state began
	Copies    string            // the folder that SaveProtected fills
	LogFile   string            // absolute path; an existing log is renamed
	Attempt   int
	AgentCode int    // exit code of the agent CLI; it is logged but doesn't affect the verdict
	Refused   string // why the agent has no transition; "" if it has one; only logged
}
