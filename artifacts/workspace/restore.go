package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// RestoreRequest describes a restore.
type RestoreRequest struct {
	From string // directory of the save
	// Dir maps a directory on the machine that made the save to a directory on this machine. If nil, all
	// paths stay unchanged.
	Dir func(string) string
}

// Conflict is the error of a restore that would lose data, or that lacks commits which it needs. When it
// is returned, nothing has been overwritten.
type Conflict struct {
	Dir   string // the worktree on this machine
	What  string
	Files []string // files in the way; may be nil
}

const namedFiles = 20

// Error implements error. The message names at most twenty files.
func (c *Conflict) Error() string {
	text := c.Dir + ": " + c.What
	for i, f := range c.Files[:min(namedFiles, len(c.Files))] {
		text += map[bool]string{true: ": ", false: ", "}[i == 0] + fmt.Sprintf("%q", f)
	}
	if more := len(c.Files) - namedFiles; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Restore restores the work of a save in worktrees, and creates worktrees that don't exist. If a worktree
// has other changes in the way, or if a commit can't be fetched, it returns a *Conflict before it
// overwrites anything. Files that are up to date are not written, so an interrupted restore can be
// repeated. The save is not trusted. Restore returns notes for users.
func (g *Git) Restore(ctx context.Context, r RestoreRequest) (notes []string, err error) {
	w, all, err := g.openSave(r, "restore")
	if w == nil {
		return nil, err
	}
	defer w.git.close()
	for i := range all {
		if _, err := w.checkBundle(&all[i]); err != nil {
			return nil, err
		}
	}
	var plans []*plan
	for i := range all {
		p, err := w.locate(ctx, &all[i])
		if err != nil {
			return nil, err
		}
		if err := w.receive(ctx, p); err != nil {
			return nil, err
		}
		if err := w.plan(ctx, p); err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	for _, p := range plans {
		if err := w.apply(ctx, p); err != nil {
			return nil, fmt.Errorf("restore %s: %w", p.dir, err)
		}
	}
	return w.notes, nil
}

// restorer restores a save. It plans all changes before it makes them. While it plans, it only creates
// repositories and adds objects to them.
type restorer struct {
	git *tool
	RestoreRequest
	limit int64 // maximum size of one bundle in bytes

	inflated, written int64    // total bytes of packs and of files so far
	notes             []string // for users
}

// openSave reads the index of a save. It returns a restorer, whose tool the caller must close, and the
// repositories in the save. If the save is empty, the restorer is nil. The parameter what is the verb with
// which error messages begin.
func (g *Git) openSave(r RestoreRequest, what string) (*restorer, []repository, error) {
	x, err := readIndex(r.From)
	if err != nil || len(x.Repositories) == 0 {
		return nil, nil, err
	}
	t, err := g.open()
	if err != nil {
		return nil, nil, fmt.Errorf("%s the work in git worktrees: %w", what, err)
	}
	return newRestorer(t, r), x.Repositories, nil
}

// newRestorer returns a restorer for the request r, which runs git with t. It is used for one restore. If
// r.Dir is nil, directories keep their paths.
func newRestorer(t *tool, r RestoreRequest) *restorer {
	if r.Dir == nil {
		r.Dir = func(dir string) string { return dir }
	}
	return &restorer{git: t, RestoreRequest: r, limit: t.opts.limit()}
}

// note adds a note for users.
func (w *restorer) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// checkBundle reads a bundle and returns its header. It checks the bundle's size, its inflated size and, if
// the index contains a hash, the hash.
func (w *restorer) checkBundle(r *repository) (header, error) {
	f, info, err := files.Open(filepath.Join(w.From, r.Bundle))
	if err != nil {
		return header{}, err
	}
	defer f.Close()
	if info.Size() > w.limit {
		return header{}, fmt.Errorf("read %s: it has %d bytes, but at most %d are allowed", r.Bundle, info.Size(), w.limit)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, info.Size()))
	if err != nil {
		return header{}, err
	}
	if r.SHA256 != "" && (n != r.Size || hex.EncodeToString(sum.Sum(nil)) != r.SHA256) {
		return header{}, fmt.Errorf("read %s: it is not the bundle that %s describes", r.Bundle, indexName)
	}
	head, size, err := checkBundleSize(f, w.limit, w.inflated)
	if err != nil {
		return header{}, fmt.Errorf("read %s: %w", r.Bundle, err)
	}
	w.inflated += size
	return head, nil
}

// plan describes the planned changes to one repository.
type plan struct {
	saved  *repository
	dir    string // top of the main worktree on this machine
	common string // common directory of the repository
	at     *refs
	trees  []*treePlan
	moves  []refUpdate
}

// receive adds the objects of a save to a repository, including commits that the bundle builds on.
func (w *restorer) receive(ctx context.Context, p *plan) error {
	if err := w.fetchNeeded(ctx, p); err != nil {
		return err
	}
	if err := w.unpack(ctx, p.saved, p.common); err != nil {
		return err
	}
	if err := w.verify(ctx, p); err != nil {
		return fmt.Errorf("read %s: %w", p.saved.Bundle, err)
	}
	return nil
}

// locate finds the repository of a save on this machine, or creates it. Only a repository that agents created or
// cloned can be created, because a save contains it completely. For others, the error is a *Conflict.
func (w *restorer) locate(ctx context.Context, r *repository) (*plan, error) {
	p := &plan{saved: r, dir: w.Dir(r.Trees[0].Dir)}
	here, err := w.git.location(ctx, p.dir)
	if err != nil {
		return nil, err
	}
	if here == nil || !sameDir(here.top, p.dir) || here.isLinked() {
		if r.Main || len(r.Needs) > 0 {
			return nil, &Conflict{Dir: p.dir, What: "there is no git repository for the saved work"}
		}
		if err := errors.Join(checkVacant(p.dir), os.MkdirAll(p.dir, 0o777)); err != nil {
			return nil, err
		}
		if err := w.git.run(ctx, call{dir: p.dir, alone: true}, "init", "--quiet", "--template=", "--object-format=sha1", "."); err != nil {
			return nil, err
		}
		w.note("%s: the repository was created from the saved commits and has no remote", p.dir)
		delete(w.git.locations, p.dir) // the cached location may be the worktree of a parent directory
		if here, err = w.git.location(ctx, p.dir); err != nil {
			return nil, err
		}
		if here == nil {
			return nil, fmt.Errorf("%s: git did not create a usable repository", p.dir)
		}
	}
	p.common = here.common
	p.at, err = w.git.refs(ctx, here)
	return p, err
}

// checkVacant returns a *Conflict unless dir is an empty directory or doesn't exist.
func checkVacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return &Conflict{Dir: dir, What: "the directory of the saved worktree is not empty", Files: names}
}

// unpack adds the objects of a bundle to a repository. Git checks each of them, and rejects trees with
// names like .git.
func (w *restorer) unpack(ctx context.Context, r *repository, common string) error {
	f, _, err := files.Open(filepath.Join(w.From, r.Bundle))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := seekPack(f); err != nil {
		return fmt.Errorf("read %s: %w", r.Bundle, err)
	}
	if err := w.git.markShallow(ctx, r.Shallow, common); err != nil {
		return err
	}
	if err := w.git.indexPack(ctx, common, f, "--fix-thin", fsck); err != nil {
		return fmt.Errorf("read %s: %w", r.Bundle, err)
	}
	return nil
}

// fsck is an option that makes git reject malformed objects. Harmless defects that old versions of git
// produced are allowed.
const fsck = "--strict=zeroPaddedFilemode=ignore,missingSpaceBeforeDate=ignore,missingSpaceBeforeEmail=ignore," +
	"badTimezone=ignore,zeroPaddedDate=ignore,nullSha1=ignore"

// markShallow marks commits as shallow, because their parents are not transferred. It skips commits that
// the repository already has, because it may have their parents.
func (t *tool) markShallow(ctx context.Context, ends []string, common string) error {
	missing, err := t.missing(ctx, call{dir: common, bare: common}, ends)
	if err != nil || len(missing) == 0 {
		return err
	}
	before, err := readShallow(common)
	if err != nil {
		return err
	}
	return writeShallow(common, slices.Concat(before, missing))
}

// writeShallow replaces the list of the commits whose parents a repository lacks.
func writeShallow(common string, ids []string) error {
	return replaceAtomically(filepath.Join(common, "shallow"), []byte(strings.Join(ids, "\n")+"\n"), 0o666)
}

// replaceAtomically replaces the content of a file in a repository atomically, so that a concurrent git reads
// either version.
func replaceAtomically(name string, data []byte, perm os.FileMode) error {
	if err := files.Write(name+".lock", data, perm); err != nil {
		return err
	}
	return files.Rename(name+".lock", name)
}

// RestoreAsBranches restores the work of a save as new branches. branches maps the name of each branch to a
// directory on this machine. The branch gets a commit with the tracked and untracked files of the saved
// worktree that contains the directory. The commit's parent is the HEAD of that worktree. Worktrees and
// other branches stay unchanged. RestoreAsBranches returns notes for users about work that it couldn't
// restore. It returns the same errors as Restore, but a missing repository is only noted.
func (g *Git) RestoreAsBranches(ctx context.Context, r RestoreRequest, branches map[string]string) (notes []string, err error) {
	w, all, err := g.openSave(r, "bring")
	if w == nil {
		return nil, err
	}
	defer w.git.close()
	for i := range all {
		if err := w.restoreBranches(ctx, &all[i], branches); err != nil {
			return w.notes, err
		}
	}
	return w.notes, nil
}

// restoreBranches creates the branches with the work of one repository.
func (w *restorer) restoreBranches(ctx context.Context, r *repository, branches map[string]string) error {
	var p *plan
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		tree := -1
		for i, t := range r.Trees {
			top := w.Dir(t.Dir)
			if cage.IsWithin(branches[name], top) && (tree < 0 || len(top) > len(w.Dir(r.Trees[tree].Dir))) {
				tree = i
			}
		}
		if tree < 0 || !isBranch(name) {
			continue
		}
		if p == nil {
			if _, err := w.checkBundle(r); err != nil {
				return err
			}
			var err error
			p, err = w.locate(ctx, r)
			if errors.As(err, new(*Conflict)) {
				w.note("the work in %s is not restored: the repository does not exist here", w.Dir(r.Trees[0].Dir))
				return nil
			}
			if err != nil {
				return err
			}
			if err := w.receive(ctx, p); err != nil {
				return err
			}
		}
		if err := w.createBranch(ctx, p, name, tree); err != nil {
			return err
		}
	}
	return nil
}

// createBranch creates one branch or replaces a branch of the same name. If git fails to set the branch, it
// adds a note.
func (w *restorer) createBranch(ctx context.Context, p *plan, name string, tree int) error {
	c := call{dir: p.common, bare: p.common}
	head := p.saved.Trees[tree].Head
	files, err := w.git.id(ctx, c, fmt.Sprintf("%s:%d/work", p.saved.Save, tree))
	if err != nil {
		return nil //nolint:nilerr // a worktree without files has nothing to restore
	}
	commit := head
	if top, err := w.git.id(ctx, c, head+"^{tree}"); head == "" || err != nil || top != files {
		if commit, err = w.git.commitTree(ctx, c, files, "Work of "+name, head); err != nil {
			return err
		}
	}
	err = w.git.updateRefs(ctx, call{dir: p.dir}, "join", []refUpdate{{"refs/heads/" + name, "", commit}})
	if err != nil {
		w.note("could not create the branch %s: %s", name, err)
	}
	return ctx.Err()
}

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
