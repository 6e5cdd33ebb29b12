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

// addWorktree creates a linked worktree without files. apply sets its HEAD afterwards.
func (w *restorer) addWorktree(ctx context.Context, p *plan, t *treePlan) error {
	h, err := w.git.view(ctx, p.common)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(t.dir, 0o777); err != nil {
		return err
	}
	// git worktree add writes to the directory worktrees, so it must exist and the view must link to it.
	if h.shield != "" {
		all := filepath.Join(h.dir, "worktrees")
		if err := os.MkdirAll(all, 0o777); err != nil {
			return err
		}
		if err := os.Symlink(all, filepath.Join(h.shield, "worktrees")); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	// git worktree add needs a commit. For a branch without commits, apply sets HEAD afterwards.
	head := cmp.Or(t.saved.Head, p.saved.Save)
	// The first --force allows a worktree that git still lists although its directory is gone. The second
	// --force also allows this for a locked worktree.
	c := call{dir: t.dir, bare: p.common}
	if err := w.git.run(ctx, c, "worktree", "add", "--quiet", "--force", "--force", "--detach", "--no-checkout", "--", t.dir, head); err != nil || h.shield == "" {
		return err
	}
	// Git has written a path in the view to the file .git. The file must contain the path of the real
	// directory.
	dotGit := filepath.Join(t.dir, ".git")
	shown, err := readPointer(dotGit, "gitdir: ")
	if err != nil {
		return err
	}
	admin := filepath.Join(h.dir, strings.TrimPrefix(shown, h.shield))
	return replaceAtomically(dotGit, []byte("gitdir: "+filepath.ToSlash(admin)+"\n"), 0o666)
}
