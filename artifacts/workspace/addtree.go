package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// addWorktree makes a linked worktree, without files. Its HEAD is set later.
func (w *restorer) addWorktree(ctx context.Context, p *plan, t *treePlan) error {
	h, err := w.git.home(ctx, p.common)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(t.dir, 0o777); err != nil {
		return err
	}
	if h.shield != "" { // a folder is linked to when it is there
		all := filepath.Join(h.dir, "worktrees")
		if err := os.MkdirAll(all, 0o777); err != nil {
			return err
		}
		if err := os.Symlink(all, filepath.Join(h.shield, "worktrees")); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	head := cmp.Or(t.saved.Head, p.saved.Save) // that of a branch without commits is set later
	// Forced, because git may still list a worktree whose folder is gone, and twice, because that may be locked.
	c := call{dir: t.dir, bare: p.common}
	if err := w.git.run(ctx, c, "worktree", "add", "--quiet", "--force", "--force", "--detach", "--no-checkout", "--", t.dir, head); err != nil || h.shield == "" {
		return err
	}
	// The worktree points to the folder that git is shown.
	dotGit := filepath.Join(t.dir, ".git")
	shown, err := pointer(dotGit, "gitdir: ")
	if err != nil {
		return err
	}
	admin := filepath.Join(h.dir, strings.TrimPrefix(shown, h.shield))
	return replace(dotGit, []byte("gitdir: "+filepath.ToSlash(admin)+"\n"), 0o666)
}
