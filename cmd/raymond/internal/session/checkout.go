package session

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
)

// Checkout describes the state of the repository before the agents of a run began to work.
type Checkout struct {
	Base      string   `json:"base"`      // the commit; empty if the directory was in no repository
	Untracked []string `json:"untracked"` // files that are in no commit
}

// InspectCheckout describes a directory in which no agent has worked yet. started is the commit that the
// job has checked out. It is empty if that is unknown.
func InspectCheckout(ctx context.Context, g *workspace.Git, dir, started string) (Checkout, error) {
	known, err := g.Untracked(ctx, dir)
	return Checkout{g.Base(ctx, dir, started), known}, err
}

// checkoutFile is the name of the file that stores a Checkout in the run's own directory. Later processes
// on this machine read it.
const checkoutFile = "checkout.json"

// LoadCheckout reads the Checkout in the run's own directory. ok is false if the file is missing or unreadable.
func LoadCheckout(runDir string) (c Checkout, ok bool) {
	err := files.ReadJSON(filepath.Join(runDir, checkoutFile), &c)
	return c, err == nil
}

// Save writes the Checkout to the run's own directory.
func (c Checkout) Save(runDir string) error {
	return files.WriteJSON(filepath.Join(runDir, checkoutFile), c)
}

// HandOver returns a function for runner.Config.HandOver, which hands over the work of agents. If there was no
// repository before the agents began, it hands over nothing. If the agents have removed the repository, it
// returns an error.
func (c Checkout) HandOver(g *workspace.Git) func(context.Context, runner.Work, string) (runner.HandOver, error) {
	return func(ctx context.Context, w runner.Work, to string) (runner.HandOver, error) {
		result, err := g.HandOver(ctx, workspace.HandOverRequest{
			Dir: w.Dir, Others: w.OtherDirs, Base: c.Base, Date: w.Since, Workflows: w.IncludesWorkflows, UntrackedBefore: c.Untracked, To: to,
		})
		if errors.Is(err, workspace.ErrNoWorktree) && c.Base == "" {
			return runner.HandOver{}, nil
		}
		return runner.HandOver{Repository: result.Repository, OmissionsFile: result.MissingList}, err
	}
}
