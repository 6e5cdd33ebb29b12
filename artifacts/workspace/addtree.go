package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// addWorktree makes a linked worktree, without files. Its HEAD is set later.
func (w *restorer) addWorktree(ctx context.Context, p *plan, t *treePlan) error {
	head := t.saved.Head
	if head == "" {
		head = p.saved.Save // of a branch without commits
	}
	h, err := w.git.home(ctx, p.common)
	if err != nil {
		return err
	}
	if h.shield == "" {
		if err := os.MkdirAll(filepath.Dir(t.dir), 0o777); err != nil {
			return err
		}
		// Forced, because git may still list a worktree whose folder is gone.
		return w.git.run(ctx, call{dir: p.dir}, "worktree", "add", "--quiet", "--force", "--detach", "--no-checkout", "--", t.dir, head)
	}
	if h.reftable {
		return errors.New("linked worktrees of a repository with reftables can't be restored")
	}
	return h.add(t.dir, head)
}

// add does what git worktree add does, which would have the worktree point to the folder
// that git is shown. The worktree is one for git when its own file has been written,
// which is the last step.
func (h *home) add(dir, head string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	admin, err := h.admin(filepath.Join(target, ".git"))
	if err != nil {
		return err
	}
	for _, f := range []struct{ path, text string }{
		{filepath.Join(admin, "HEAD"), head}, {filepath.Join(admin, "commondir"), "../.."},
		{filepath.Join(admin, "gitdir"), filepath.ToSlash(filepath.Join(target, ".git"))},
		{filepath.Join(target, ".git"), "gitdir: " + filepath.ToSlash(admin)},
	} {
		if err := files.WriteNew(f.path, []byte(f.text+"\n"), 0o666); err != nil {
			return err
		}
	}
	link := filepath.Join(h.shield, "worktrees")
	if err := os.Symlink(filepath.Dir(admin), link); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// admin makes git's folder for a worktree, in place of one whose worktree is gone and
// was in the same place.
func (h *home) admin(dotGit string) (string, error) {
	all := filepath.Join(h.dir, "worktrees")
	if err := os.MkdirAll(all, 0o777); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(all)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		old := filepath.Join(all, e.Name())
		if was, err := pointer(filepath.Join(old, "gitdir"), ""); err == nil && resolved(filepath.Dir(was)) == filepath.Dir(dotGit) {
			if err := os.RemoveAll(old); err != nil {
				return "", err
			}
		}
	}
	return os.MkdirTemp(all, "raymond-")
}
