package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// commit makes the commit that holds everything, and returns its id.
func (p *packer) commit(ctx context.Context, limit int64) (id string, err error) {
	for _, wt := range p.src.trees {
		if err = p.addConverted(ctx, wt); err != nil {
			return "", err
		}
	}
	if p.largest, err = weigh(p.src.trees, limit, p.single); err != nil {
		return "", err
	}
	for _, wt := range p.src.trees {
		if wt.Head == "" {
			continue
		}
		if wt.tree, err = p.git.id(ctx, p.call, wt.Head+"^{tree}"); err != nil {
			return "", err
		}
	}
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := p.write(w)
		w.CloseWithError(err)
		written <- err
	}()
	c := p.call
	c.in, c.settings = r, p.settings
	err = p.git.run(ctx, c, "fast-import", "--quiet", "--done", "--force")
	r.CloseWithError(errUnread) // of a git that did not read all: write is not left hanging
	if writeErr := <-written; writeErr != nil && !errors.Is(writeErr, errUnread) && ctx.Err() == nil {
		return "", writeErr
	}
	if err != nil {
		return "", err
	}
	return p.git.id(ctx, p.call, p.ref)
}

// addConverted has files saved that git takes for unchanged although it has converted them: line ends, what git LFS or
// another filter keeps elsewhere. The index, or a commit since the checkout, has something else of them than is there.
func (p *packer) addConverted(ctx context.Context, wt *worktree) error {
	fresh, err := p.fresh(ctx, wt)
	if err != nil || len(fresh) == 0 {
		return err
	}
	root, err := os.OpenRoot(wt.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for path, it := range fresh {
		is, err := onDisk(root, path)
		isFile := it.mode != "" && it.mode != modeSub && it.mode != modeLink && is.mode != modeLink
		if err == nil && isFile && is.id != "" && is.id != it.id {
			wt.status = append(wt.status, entry{kind: '1', staged: '.', changed: 'M', index: [4]item{it}, mode: it.mode, path: path})
		}
	}
	return nil
}

// fresh are entries of the index that the commit of the checkout has not, and that no file differs from.
func (p *packer) fresh(ctx context.Context, wt *worktree) (map[string]item, error) {
	all := map[string]item{}
	if p.src.base != "" && wt.Head != "" && wt.Head != p.src.base {
		since, err := p.git.differences(ctx, p.call, p.src.base, wt.Head)
		if err != nil {
			return nil, err
		}
		for _, d := range since {
			all[d.path] = d.to
		}
	}
	for _, e := range wt.status {
		if all[e.path] = e.index[0]; e.changed != '.' {
			delete(all, e.path)
		}
	}
	return all, nil
}

var errUnread = errors.New("git has not read all")

// write writes the commit as git fast-import reads it.
func (p *packer) write(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<16)
	fmt.Fprintf(w, "feature done\ncommit %s\ncommitter raymond <raymond@localhost> 0 +0000\ndata %d\n%s\n", p.ref, len(p.about), p.about)
	verb := "from"
	for _, id := range p.tips() {
		fmt.Fprintf(w, "%s %s\n", verb, id)
		verb = "merge"
	}
	fmt.Fprintln(w, "deleteall")
	for i, wt := range p.src.trees {
		if err := p.writeTree(w, i, wt); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, "done")
	return w.Flush()
}

// emptyTree is the id of the tree without entries, which git knows without having it.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// The parts of what the commit has of a worktree.
const (
	indexPart = "index"
	workPart  = "work"
	stagePart = "stage"
)

// treeWriter writes what of one worktree goes into the commit.
type treeWriter struct {
	*packer
	w    *bufio.Writer
	wt   *worktree
	root *os.Root
	n    int // of the worktree
}

func (p *packer) writeTree(w *bufio.Writer, n int, wt *worktree) error {
	root, err := os.OpenRoot(wt.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if wt.tree != "" && wt.tree != emptyTree {
		fmt.Fprintf(w, "M 040000 %s %d/index\nM 040000 %[1]s %[2]d/work\n", wt.tree, n)
	}
	t := &treeWriter{p, w, wt, root, n}
	// What is gone comes before all else, so that a folder can take a file's place.
	for _, e := range wt.status {
		if e.kind == 'u' || e.kind == '1' && e.staged != '.' {
			fmt.Fprintf(w, "D %s\nD %s\n", t.path(indexPart, e.path), t.path(workPart, e.path))
		}
		if e.changed == 'D' {
			fmt.Fprintf(w, "D %s\n", t.path(workPart, e.path))
		}
	}
	for _, e := range wt.status {
		t.writeIndex(e)
	}
	for _, e := range wt.status {
		if err := t.writeFile(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *treeWriter) path(part, path string) string {
	return quoted(fmt.Sprintf("%d/%s/%s", t.n, part, path))
}

// writeIndex writes what the index has, unless HEAD has it too.
func (t *treeWriter) writeIndex(e entry) {
	if e.kind == '1' && e.staged == '.' {
		return
	}
	for stage, it := range e.index {
		part := indexPart
		if stage > 0 {
			part = fmt.Sprint(stagePart, "/", stage)
		}
		if it.mode != "" {
			fmt.Fprintf(t.w, "M %s %s %s\n", it.mode, it.id, t.path(part, e.path))
		}
	}
	if it := e.index[0]; it.mode != "" && e.changed != 'D' {
		fmt.Fprintf(t.w, "M %s %s %s\n", it.mode, it.id, t.path(workPart, e.path))
	}
}

// writeFile writes a file that differs from the index as it is now.
func (t *treeWriter) writeFile(e entry) error {
	switch {
	case e.kind == '?' && strings.HasSuffix(e.path, "/"), e.isSubmodule, e.index[0].mode == modeSub && e.mode == modeSub:
		if !t.git.isSaved(filepath.Join(t.wt.Dir, filepath.FromSlash(e.path))) {
			t.src.note("%s: %q is a repository of its own, and is not saved", t.wt.Dir, e.path)
		}
		return nil
	case e.changed == '.', e.changed == 'D', e.mode == modeNone, e.mode == modeSub:
		return nil
	}
	to := t.path(workPart, e.path)
	info, err := t.root.Lstat(e.path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is gone by now
		fmt.Fprintf(t.w, "D %s\n", to)
		return nil
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return t.writeLink(e.path, to)
	case err == nil:
		if id := t.stamps.id(t.wt.Dir+"\x00"+e.path, info); id != "" {
			fmt.Fprintf(t.w, "M %s %s %s\n", e.modeOf(fileMode(info)), id, to)
			return nil
		}
	}
	return t.writeContent(e, to)
}

// modeOf is the mode that a file is saved with.
func (e *entry) modeOf(here string) string {
	if e.kind == '?' || e.mode == modeLink {
		return here
	}
	return e.mode
}

// writeContent writes the bytes of a file.
func (t *treeWriter) writeContent(e entry, to string) error {
	f, info, err := files.OpenIn(t.root, e.path)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, files.ErrNotRegular) {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		t.src.note("%s: %q is not saved: %s", t.wt.Dir, e.path, err)
		return nil
	}
	if err != nil {
		return errMovedOr(err)
	}
	defer f.Close()
	fmt.Fprintf(t.w, "M %s inline %s\ndata %d\n", e.modeOf(fileMode(info)), to, info.Size())
	sum := blobHash(info.Size())
	// A file that grows is saved as it was when it was opened.
	if n, err := io.CopyN(io.MultiWriter(t.w, sum), f, info.Size()); err != nil {
		return errMovedOr(fmt.Errorf("read %q: %d of %d bytes: %w", e.path, n, info.Size(), err))
	}
	t.stamps.read(t.wt.Dir+"\x00"+e.path, info, sum)
	return t.w.WriteByte('\n')
}

func (t *treeWriter) writeLink(path, to string) error {
	target, err := t.root.Readlink(path)
	if err != nil {
		return errMovedOr(err)
	}
	fmt.Fprintf(t.w, "M %s inline %s\ndata %d\n%s\n", modeLink, to, len(target), target)
	return nil
}

// errMovedOr tells a file that changes while it is read from one that can't be read.
func errMovedOr(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", errMovedNow, err)
	}
	return err
}
