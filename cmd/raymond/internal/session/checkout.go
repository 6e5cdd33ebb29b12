package session

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
)

// Checkout is what the agents of a run found when they began.
type Checkout struct {
	Base      string   `json:"base"`      // the commit; "" for none
	Untracked []string `json:"untracked"` // files that no commit has
}

// LookAtCheckout looks at a directory in which no agent has been yet. started is the commit that the job says it
// checked out, "" where nobody says so.
func LookAtCheckout(ctx context.Context, g *workspace.Git, dir, started string) (Checkout, error) {
	known, err := g.Untracked(ctx, dir)
	return Checkout{g.Base(ctx, dir, started), known}, err
}

// checkoutFile keeps it in the run's own folder, for those who continue the run on this machine, and maxCheckout
// bounds what is read of it, in bytes.
const (
	checkoutFile = "checkout.json"
	maxCheckout  = 64 << 20
)

// KeptCheckout returns what was kept in the run's own folder, and false where nothing was.
func KeptCheckout(runDir string) (c Checkout, ok bool) {
	data, _, err := files.Read(filepath.Join(runDir, checkoutFile), maxCheckout)
	return c, err == nil && json.Unmarshal(data, &c) == nil
}

// Keep keeps it there.
func (c Checkout) Keep(runDir string) error {
	data, err := json.Marshal(c)
	return errors.Join(err, files.WriteNew(filepath.Join(runDir, checkoutFile), data, 0o600))
}

// HandOver returns what hands the work of agents over, as runner.Config.HandOver does. Nothing is handed over only where
// there was no repository when the agents began: one that they have taken away is an error.
func (c Checkout) HandOver(g *workspace.Git) func(context.Context, runner.Work, string) (runner.HandedOver, error) {
	return func(ctx context.Context, w runner.Work, to string) (runner.HandedOver, error) {
		made, err := g.HandOver(ctx, workspace.Handing{
			Dir: w.Dir, Others: w.Others, Base: c.Base, At: w.At, Workflows: w.Workflows, Known: c.Untracked, To: to,
		})
		if errors.Is(err, workspace.ErrNoWorktree) && c.Base == "" {
			return runner.HandedOver{}, nil
		}
		return runner.HandedOver{Repository: made.Repository, Lacks: made.Lacks}, err
	}
}
