package runner

import (
	"context"

	"github.com/raymond-action/raymond-action/state"
)

// Verifier decides whether an attempt of a state with done_when is done.
type Verifier interface {
	// Ready says why this machine can run no command, nil if it can.
	Ready() error
	// Verify runs every command of an order, one by one, all of them even after one failed,
	// and returns when everything they started is gone. When ctx is done it ends
	// them and says so in the Verification. It calls tell before each command, from
	// its own goroutine.
	Verify(ctx context.Context, o Order, tell func(Progress)) state.Verification
	// SaveProtected returns a digest of each protected file below the directory of an order, and keeps copies of them, as
	// far as there is room, from which Verify puts back what an attempt has changed.
	SaveProtected(o Order) map[string]string
}

// Checks is what only the verification of an attempt has.
type Checks struct {
	Commands  []string
	Protect   []string
	Protected map[string]string // digests when the state was entered
	Copies    string            // the folder that Keep fills
	LogFile   string            // absolute; replaced
	Attempt   int
	AgentCode int    // exit code of the agent CLI: logged, not consulted
	Refused   string // why the agent has no transition, "" when it has one: logged
}
