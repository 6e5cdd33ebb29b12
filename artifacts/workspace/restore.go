package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// RestoreRequest is what to restore, and where to.
type RestoreRequest struct {
	From string // the folder of a save
	// Dir returns where a directory of the machine that made the save lies here; nil
	// for the same place.
	Dir func(string) string
}

// Conflict is the error of a restore that would have lost something, or that lacks
// what it builds on. Nothing was overwritten.
type Conflict struct {
	Dir   string // the worktree, here
	What  string
	Files []string // all that are in the way, or nil
}

const namedFiles = 20

// Error implements error. It names twenty files.
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

// Restore writes the work of a save to the worktrees here, and makes those that do not
// exist. It fails with a *Conflict, before anything is overwritten, when a worktree has
// changes of its own in the way or when a commit can't be fetched. What is already
// right is left alone, so a restore that was cut off is completed by another. Nothing
// that is read from the save is trusted. It returns notes for people.
func (g *Git) Restore(ctx context.Context, r RestoreRequest) (notes []string, err error) {
	w, all, err := g.begin(r, "restore")
	if w == nil {
		return nil, err
	}
	defer w.git.close()
	for i := range all {
		if _, err := w.weigh(&all[i]); err != nil {
			return nil, err
		}
	}
	var plans []*plan
	for i := range all {
		p, err := w.plan(ctx, &all[i])
		if err != nil {
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

// restorer restores. It first makes plans, for which it changes nothing but objects of git,
// and then applies them.
type restorer struct {
	git *tool
	RestoreRequest
	limit int64 // bytes of one bundle

	inflated, written int64    // so far: bytes of all packs, and of all files
	notes             []string // for people
}

// begin reads the index of a save. It returns what restores that and has to be closed, nil where there is nothing, and
// the repositories.
func (g *Git) begin(r RestoreRequest, what string) (*restorer, []repository, error) {
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

func newRestorer(t *tool, r RestoreRequest) *restorer {
	if r.Dir == nil {
		r.Dir = func(dir string) string { return dir }
	}
	return &restorer{git: t, RestoreRequest: r, limit: t.of.limit()}
}

func (w *restorer) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// weigh reads the head of a bundle, which has to be the one that the index describes if there is one, and weighs what
// it holds.
func (w *restorer) weigh(r *repository) (header, error) {
	f, info, err := files.Open(filepath.Join(w.From, r.Bundle))
	if err != nil {
		return header{}, err
	}
	defer f.Close()
	if info.Size() > w.limit {
		return header{}, fmt.Errorf("read %s: it has %d bytes, want %d at most", r.Bundle, info.Size(), w.limit)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, info.Size()))
	if err != nil {
		return header{}, err
	}
	if r.SHA256 != "" && (n != r.Size || hex.EncodeToString(sum.Sum(nil)) != r.SHA256) {
		return header{}, fmt.Errorf("read %s: it is not the bundle that %s describes", r.Bundle, indexName)
	}
	head, size, err := weighBundle(f, w.limit, w.inflated)
	if err != nil {
		return header{}, fmt.Errorf("read %s: %w", r.Bundle, err)
	}
	w.inflated += size
	return head, nil
}

// plan is what is to be done to one repository.
type plan struct {
	saved  *repository
	dir    string // of the main worktree, here
	common string // the repository's own folder
	at     *refs
	trees  []*treePlan
	moves  []move
}

// plan finds out what is to be done to a repository. It adds objects to it, and
// changes nothing else.
func (w *restorer) plan(ctx context.Context, r *repository) (*plan, error) {
	p, err := w.locate(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := w.receive(ctx, p); err != nil {
		return nil, err
	}
	if err := w.planBranches(ctx, p); err != nil {
		return nil, err
	}
	return p, w.planTrees(ctx, p)
}

// receive adds the objects of a save to a repository, with all that they build on.
func (w *restorer) receive(ctx context.Context, p *plan) error {
	if err := w.provide(ctx, p); err != nil {
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

// locate finds the repository here.
func (w *restorer) locate(ctx context.Context, r *repository) (*plan, error) {
	p := &plan{saved: r, dir: w.Dir(r.Trees[0].Dir)}
	here, err := w.git.place(ctx, p.dir)
	if err != nil {
		return nil, err
	}
	if here == nil || !sameDir(here.top, p.dir) || here.linked() {
		if here, err = w.create(ctx, p); err != nil {
			return nil, err
		}
	}
	p.common = here.common
	p.at, err = w.git.refs(ctx, here)
	return p, err
}

// create makes a repository that is not here: one that an agent has made or cloned, which was saved whole.
func (w *restorer) create(ctx context.Context, p *plan) (*place, error) {
	if p.saved.Main || len(p.saved.Needs) > 0 {
		return nil, &Conflict{Dir: p.dir, What: "there is no git repository to put the saved work into"}
	}
	if err := errors.Join(vacant(p.dir), os.MkdirAll(p.dir, 0o777)); err != nil {
		return nil, err
	}
	if err := w.git.run(ctx, call{dir: p.dir, alone: true}, "init", "--quiet", "--template=", "--object-format=sha1", "."); err != nil {
		return nil, err
	}
	w.note("%s: the repository was made from the saved commits; it has no remote", p.dir)
	delete(w.git.places, p.dir) // that of the repository around it
	here, err := w.git.place(ctx, p.dir)
	if err == nil && here == nil {
		err = fmt.Errorf("%s: git has made no repository that can be used", p.dir)
	}
	return here, err
}

// vacant returns a *Conflict when there is anything at a folder's place but an empty
// folder.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return &Conflict{Dir: dir, What: "something else is in the place of the saved worktree", Files: names}
}

// unpack adds the objects of a bundle to a repository, each of them checked: a name
// like .git in a tree is an error.
func (w *restorer) unpack(ctx context.Context, r *repository, common string) error {
	f, _, err := files.Open(filepath.Join(w.From, r.Bundle))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := toPack(f); err != nil {
		return fmt.Errorf("read %s: %w", r.Bundle, err)
	}
	if err := w.git.deepen(ctx, r.Shallow, common); err != nil {
		return err
	}
	if err := w.git.takePack(ctx, common, f, "--fix-thin", fsck); err != nil {
		return fmt.Errorf("read %s: %w", r.Bundle, err)
	}
	return nil
}

// fsck has git refuse objects that are not as they should be, but for what old
// versions of git have written and nobody is harmed by.
const fsck = "--strict=zeroPaddedFilemode=ignore,missingSpaceBeforeDate=ignore,missingSpaceBeforeEmail=ignore," +
	"badTimezone=ignore,zeroPaddedDate=ignore,nullSha1=ignore"

// deepen notes the commits whose parents are not handed over, unless a repository has
// them already and so knows better.
func (t *tool) deepen(ctx context.Context, ends []string, common string) error {
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

func writeShallow(common string, ids []string) error {
	return replace(filepath.Join(common, "shallow"), []byte(strings.Join(ids, "\n")+"\n"), 0o666)
}

// replace makes a file of a repository hold data. A git that reads it meanwhile has the
// old file or the new one, whole.
func replace(name string, data []byte, perm os.FileMode) error {
	if err := files.Write(name+".lock", data, perm); err != nil {
		return err
	}
	return files.Rename(name+".lock", name)
}
