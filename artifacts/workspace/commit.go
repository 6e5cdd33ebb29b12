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
	// fresh maps paths to index entries that differ from the checkout's commit and, according to git, match their files.
	fresh := map[string]item{}
	if p.src.base != "" && wt.Head != "" && wt.Head != p.src.base {
		since, err := p.git.differences(ctx, p.call, p.src.base, wt.Head)
		if err != nil {
			return err
		}
		for _, d := range since {
			fresh[d.path] = d.to
		}
	}
	for _, e := range wt.status {
		if fresh[e.path] = e.index[0]; e.changed != '.' {
			delete(fresh, e.path)
		}
	}
	if len(fresh) == 0 {
		return nil
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
	// Deletions come first, so that a directory can replace a file.
	for _, e := range wt.status {
		if e.kind == 'u' || e.kind == '1' && e.staged != '.' {
			fmt.Fprintf(w, "D %s\nD %s\n", pathInCommit(n, indexPart, e.path), pathInCommit(n, workPart, e.path))
		}
		if e.changed == 'D' {
			fmt.Fprintf(w, "D %s\n", pathInCommit(n, workPart, e.path))
		}
	}
	for _, e := range wt.status {
		if e.kind == '1' && e.staged == '.' { // the index matches HEAD at the path
			continue
		}
		for stage, it := range e.index {
			part := indexPart
			if stage > 0 {
				part = fmt.Sprint(stagePart, "/", stage)
			}
			if it.mode != "" {
				fmt.Fprintf(w, "M %s %s %s\n", it.mode, it.id, pathInCommit(n, part, e.path))
			}
		}
		if it := e.index[0]; it.mode != "" && e.changed != 'D' {
			fmt.Fprintf(w, "M %s %s %s\n", it.mode, it.id, pathInCommit(n, workPart, e.path))
		}
	}
	for _, e := range wt.status {
		if err := p.writeFile(w, n, wt, root, e); err != nil {
			return err
		}
	}
	return nil
}

// pathInCommit returns the quoted path in the commit of a file of the n-th worktree.
func pathInCommit(n int, part, path string) string {
	return quotePath(fmt.Sprintf("%d/%s/%s", n, part, path))
}

// writeFile writes the current content of a file of the n-th worktree that differs from the index. If the path is a
// separate repository that is not saved, or a file that is unreadable or not regular, it adds a note instead.
func (p *packer) writeFile(w *bufio.Writer, n int, wt *worktree, root *os.Root, e entry) error {
	switch {
	case e.kind == '?' && strings.HasSuffix(e.path, "/"), e.isSubmodule, e.index[0].mode == modeSub && e.mode == modeSub:
		if !p.git.isSaved(filepath.Join(wt.Dir, filepath.FromSlash(e.path))) {
			p.src.note("%s: %q is a separate repository and is not saved", wt.Dir, e.path)
		}
		return nil
	case e.changed == '.', e.changed == 'D', e.mode == modeNone, e.mode == modeSub:
		return nil
	}
	to := pathInCommit(n, workPart, e.path)
	info, err := root.Lstat(e.path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it was removed after git status read it
		fmt.Fprintf(w, "D %s\n", to)
		return nil
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(e.path)
		if err != nil {
			return asMoved(err)
		}
		fmt.Fprintf(w, "M %s inline %s\ndata %d\n%s\n", modeLink, to, len(target), target)
		return nil
	case err == nil:
		if id := p.stamps.id(wt.Dir+"\x00"+e.path, info); id != "" {
			fmt.Fprintf(w, "M %s %s %s\n", e.modeOf(fileMode(info)), id, to)
			return nil
		}
	}
	f, info, err := files.OpenIn(root, e.path)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, files.ErrNotRegular) {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		p.src.note("%s: %q is not saved: %s", wt.Dir, e.path, err)
		return nil
	}
	if err != nil {
		return asMoved(err)
	}
	defer f.Close()
	fmt.Fprintf(w, "M %s inline %s\ndata %d\n", e.modeOf(fileMode(info)), to, info.Size())
	sum := blobHash(info.Size())
	// If the file grows while it is read, only the bytes that it had when it was opened are saved.
	if n, err := io.CopyN(io.MultiWriter(w, sum), f, info.Size()); err != nil {
		return asMoved(fmt.Errorf("read %q: %d of %d bytes: %w", e.path, n, info.Size(), err))
	}
	p.stamps.add(wt.Dir+"\x00"+e.path, info, sum)
	return w.WriteByte('\n')
}

// modeOf returns the mode with which a file is saved. This is the mode from git status, except for untracked
// files and links. These are saved with the mode here, which was read from the file.
func (e *entry) modeOf(here string) string {
	if e.kind == '?' || e.mode == modeLink {
		return here
	}
	return e.mode
}

// asMoved wraps errMovedNow around an error that means that a file was removed or became shorter while it
// was read. The save is then repeated. Other errors are returned unchanged.
func asMoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", errMovedNow, err)
	}
	return err
}
