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

// commit creates the commit that contains all work of a repository and returns its id.
func (p *packer) commit(ctx context.Context, limit int64) (id string, err error) {
	for _, wt := range p.src.trees {
		if err = p.addConverted(ctx, wt); err != nil {
			return "", err
		}
	}
	if p.largest, err = checkSizes(p.src.trees, limit, p.single); err != nil {
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
	r.CloseWithError(errUnread) // unblocks write if git did not read everything
	if writeErr := <-written; writeErr != nil && !errors.Is(writeErr, errUnread) && ctx.Err() == nil {
		return "", writeErr
	}
	if err != nil {
		return "", err
	}
	return p.git.id(ctx, p.call, p.ref)
}

// addConverted adds files to the status that git considers unchanged although their bytes differ from
// the stored ones. Examples are files with converted line ends, and files whose contents git LFS or
// another filter stores elsewhere. Only files that were staged or committed after the checkout need this.
func (p *packer) addConverted(ctx context.Context, wt *worktree) error {
	fresh, err := p.convertible(ctx, wt)
	if err != nil || len(fresh) == 0 {
		return err
	}
	root, err := os.OpenRoot(wt.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for path, it := range fresh {
		is, err := itemOnDisk(root, path)
		isFile := it.mode != "" && it.mode != modeSub && it.mode != modeLink && is.mode != modeLink
		if err == nil && isFile && is.id != "" && is.id != it.id {
			wt.status = append(wt.status, entry{kind: '1', staged: '.', changed: 'M', index: [4]item{it}, mode: it.mode, path: path})
		}
	}
	return nil
}

// convertible returns the index entries that differ from the checkout's commit and that, according to
// git, match their files.
func (p *packer) convertible(ctx context.Context, wt *worktree) (map[string]item, error) {
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

// write writes the commit in the input format of git fast-import.
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

// emptyTree is the id of the empty tree, which git knows without storing it.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Names of the directories in a worktree's tree in the commit.
const (
	indexPart = "index"
	workPart  = "work"
	stagePart = "stage"
)

// treeWriter writes the tree of one worktree in the commit.
type treeWriter struct {
	*packer
	w    *bufio.Writer
	wt   *worktree
	root *os.Root
	n    int // number of the worktree
}

// writeTree writes the tree of the n-th worktree: the tree of HEAD, changed by the worktree's status.
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
	// Deletions come first, so that a directory can replace a file.
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

// path returns the quoted path of a file in the commit.
func (t *treeWriter) path(part, path string) string {
	return quotePath(fmt.Sprintf("%d/%s/%s", t.n, part, path))
}

// writeIndex writes the index entries of a path. It writes nothing if the index matches HEAD at the path.
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

// writeFile writes the current content of a file that differs from the index. If the path is a separate
// repository that is not saved, it adds a note instead.
func (t *treeWriter) writeFile(e entry) error {
	switch {
	case e.kind == '?' && strings.HasSuffix(e.path, "/"), e.isSubmodule, e.index[0].mode == modeSub && e.mode == modeSub:
		if !t.git.isSaved(filepath.Join(t.wt.Dir, filepath.FromSlash(e.path))) {
			t.src.note("%s: %q is a separate repository and is not saved", t.wt.Dir, e.path)
		}
		return nil
	case e.changed == '.', e.changed == 'D', e.mode == modeNone, e.mode == modeSub:
		return nil
	}
	to := t.path(workPart, e.path)
	info, err := t.root.Lstat(e.path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it was removed after git status read it
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

// modeOf returns the mode with which a file is saved. This is the mode from git status, except for untracked
// files and links. These are saved with the mode here, which was read from the file.
func (e *entry) modeOf(here string) string {
	if e.kind == '?' || e.mode == modeLink {
		return here
	}
	return e.mode
}

// writeContent writes the bytes of a file. If the file is unreadable or not regular, it adds a note and
// writes nothing.
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
		return asMoved(err)
	}
	defer f.Close()
	fmt.Fprintf(t.w, "M %s inline %s\ndata %d\n", e.modeOf(fileMode(info)), to, info.Size())
	sum := blobHash(info.Size())
	// If the file grows while it is read, only the bytes that it had when it was opened are saved.
	if n, err := io.CopyN(io.MultiWriter(t.w, sum), f, info.Size()); err != nil {
		return asMoved(fmt.Errorf("read %q: %d of %d bytes: %w", e.path, n, info.Size(), err))
	}
	t.stamps.add(t.wt.Dir+"\x00"+e.path, info, sum)
	return t.w.WriteByte('\n')
}

// writeLink writes a symbolic link.
func (t *treeWriter) writeLink(path, to string) error {
	target, err := t.root.Readlink(path)
	if err != nil {
		return asMoved(err)
	}
	fmt.Fprintf(t.w, "M %s inline %s\ndata %d\n%s\n", modeLink, to, len(target), target)
	return nil
}

// asMoved wraps errMovedNow around an error that means that a file was removed or became shorter while it
// was read. The save is then repeated. Other errors are returned unchanged.
func asMoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", errMovedNow, err)
	}
	return err
}
