package session

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/runner"
)

// Checkout is what the agents of a run found when they began.
type Checkout struct {
	Base      string   `json:"base"`      // the commit; "" for none
	Untracked []string `json:"untracked"` // files that no commit has
}

// InspectCheckout looks at a directory in which no agent has been yet. started is the commit that the job says it
// checked out, "" where nobody says so.
func InspectCheckout(ctx context.Context, g *workspace.Git, dir, started string) (Checkout, error) {
	known, err := g.Untracked(ctx, dir)
	return Checkout{g.Base(ctx, dir, started), known}, err
}

// checkoutFile keeps it in the run's own folder, for those who continue the run on this machine.
const checkoutFile = "checkout.json"

// LoadCheckout returns what was kept in the run's own folder, and false where nothing was.
func LoadCheckout(runDir string) (c Checkout, ok bool) {
	err := checkpoints.ReadNote(filepath.Join(runDir, checkoutFile), &c)
	return c, err == nil
}

// Save keeps it there.
func (c Checkout) Save(runDir string) error {
	return checkpoints.WriteNote(filepath.Join(runDir, checkoutFile), c)
}

// HandOver returns what hands the work of agents over, as runner.Config.HandOver does. Nothing is handed over only where
// there was no repository when the agents began: one that they have taken away is an error.
func (c Checkout) HandOver(g *workspace.Git) func(context.Context, runner.Work, string) (runner.HandOver, error) {
	return func(ctx context.Context, w runner.Work, to string) (runner.HandOver, error) {
		made, err := g.HandOver(ctx, workspace.HandOverRequest{
			Dir: w.Dir, Others: w.OtherDirs, Base: c.Base, Date: w.Since, Workflows: w.IncludesWorkflows, UntrackedBefore: c.Untracked, To: to,
		})
		if errors.Is(err, workspace.ErrNoWorktree) && c.Base == "" {
			return runner.HandOver{}, nil
		}
		return runner.HandOver{Repository: made.Repository, OmissionsFile: made.MissingList}, err
	}
}
