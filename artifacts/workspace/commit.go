package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// commit makes the commit that holds everything, and returns its id.
func (p *packer) commit(ctx context.Context, limit int64) (string, error) {
	c := p.call
	var plans []*treeStream
	for i, wt := range p.src.trees {
		plan, err := p.stream(ctx, i, wt)
		if err != nil {
			return "", err
		}
		plans = append(plans, plan)
	}
	if err := weigh(plans, limit); err != nil {
		return "", err
	}
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := p.write(w, plans)
		w.CloseWithError(err)
		written <- err
	}()
	c.in, c.settings = r, p.settings
	err := p.git.run(ctx, c, "fast-import", "--quiet", "--done", "--force")
	r.CloseWithError(errUnread) // of a git that did not read all: write is not left hanging
	if writeErr := <-written; writeErr != nil && !errors.Is(writeErr, errUnread) && ctx.Err() == nil {
		return "", writeErr
	}
	if err != nil {
		return "", err
	}
	return p.git.id(ctx, p.call, p.ref)
}

var errUnread = errors.New("git has not read all")

// treeStream is what of one worktree goes into the commit.
type treeStream struct {
	*worktree
	prefix string
	tree   string          // that of HEAD, "" for none
	extra  map[string]item // files that git takes for unchanged, but has converted: index entries by path
}

// stream prepares what goes into the commit. Files that differ from the commit of the
// checkout are read even when they are as the index has them: git may have changed
// line ends or more on their way, and only what is read comes back to the byte.
func (p *packer) stream(ctx context.Context, i int, wt *worktree) (*treeStream, error) {
	t := &treeStream{worktree: wt, prefix: strconv.Itoa(i) + "/", extra: map[string]item{}}
	if wt.Head != "" {
		var err error
		if t.tree, err = p.git.id(ctx, p.call, wt.Head+"^{tree}"); err != nil {
			return nil, err
		}
	}
	if wt.Head != "" && p.src.base != "" && p.src.base != wt.Head {
		all, err := p.git.differences(ctx, p.call, p.src.base, wt.Head)
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			t.extra[d.path] = d.to
		}
	}
	for _, e := range t.status {
		delete(t.extra, e.path)
		if e.kind == '1' && e.changed == '.' {
			t.extra[e.path] = e.index
		}
	}
	return t, t.dropPlain()
}

// difference is a path in which two trees differ.
type difference struct {
	from, to item
	path     string
}

// differences compares two trees, or those of commits.
func (t *tool) differences(ctx context.Context, c call, from, to string) ([]difference, error) {
	out, err := t.output(ctx, c, "diff-tree", "-r", "-z", "--no-renames", from, to)
	if err != nil {
		return nil, err
	}
	var all []difference
	for d := range slices.Chunk(strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), 2) {
		f := strings.Fields(strings.TrimPrefix(d[0], ":"))
		switch {
		case len(out) == 0:
		case len(f) != 5 || len(d) != 2:
			return nil, fmt.Errorf("git diff-tree: %.80q is unknown", d[0])
		default:
			all = append(all, difference{item{f[0], f[2]}, item{f[1], f[3]}, d[1]})
		}
	}
	return all, nil
}

// dropPlain leaves out the files that are just what HEAD has, and so need not be
// stored twice.
func (t *treeStream) dropPlain() error {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	d := newDisk(root)
	for path, have := range t.extra {
		if is, err := d.at(path); err == nil && is.id == have.id {
			delete(t.extra, path)
		}
	}
	return nil
}

// write writes the commit as git fast-import reads it.
func (p *packer) write(to io.Writer, plans []*treeStream) error {
	w := bufio.NewWriterSize(to, 1<<16)
	fmt.Fprintf(w, "feature done\ncommit %s\ncommitter raymond <raymond@localhost> 0 +0000\ndata %d\n%s\n", p.ref, len(p.about), p.about)
	verb := "from"
	for _, id := range p.tips() {
		fmt.Fprintf(w, "%s %s\n", verb, id)
		verb = "merge"
	}
	fmt.Fprintln(w, "deleteall")
	for _, t := range plans {
		if err := p.writeTree(w, t); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, "done")
	return w.Flush()
}

// emptyTree is the id of the tree without entries, which git knows without having it.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

func (p *packer) writeTree(w *bufio.Writer, t *treeStream) error {
	if t.tree != "" && t.tree != emptyTree {
		fmt.Fprintf(w, "M 040000 %s %sindex\nM 040000 %[1]s %[2]swork\n", t.tree, t.prefix)
	}
	t.writeRemovals(w)
	t.writeIndex(w)
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return p.writeFiles(w, root, t)
}

// writeRemovals comes before all else, so that a folder can take a file's place.
func (t *treeStream) writeRemovals(w *bufio.Writer) {
	for _, e := range t.status {
		if e.kind == 'u' || e.kind == '1' && e.staged != '.' {
			fmt.Fprintf(w, "D %s\nD %s\n", t.path("index/", e.path), t.path("work/", e.path))
		}
		if e.changed == 'D' {
			fmt.Fprintf(w, "D %s\n", t.path("work/", e.path))
		}
	}
}

func (t *treeStream) path(part, path string) string { return quoted(t.prefix + part + path) }

func (t *treeStream) writeIndex(w *bufio.Writer) {
	for _, e := range t.status {
		switch {
		case e.kind == '1' && e.staged != '.' && e.index.mode != modeNone:
			fmt.Fprintf(w, "M %s %s %s\n", e.index.mode, e.index.id, t.path("index/", e.path))
		case e.kind == 'u':
			for i, stage := range e.stages {
				if stage.mode != modeNone {
					fmt.Fprintf(w, "M %s %s %s\n", stage.mode, stage.id, t.path("stage/"+strconv.Itoa(i+1)+"/", e.path))
				}
			}
		}
	}
	for _, e := range t.status {
		if e.kind == '1' && e.staged != '.' && e.index.mode != modeNone && e.changed != 'D' {
			fmt.Fprintf(w, "M %s %s %s\n", e.index.mode, e.index.id, t.path("work/", e.path))
		}
	}
}

// writeFiles writes the files that differ from the index, and those that may.
func (p *packer) writeFiles(w *bufio.Writer, root *os.Root, t *treeStream) error {
	for _, e := range t.status {
		if err := p.writeEntry(w, root, t, e); err != nil {
			return err
		}
	}
	for path, have := range t.extra {
		e := entry{kind: '1', changed: '.', index: have, mode: have.mode, path: path}
		if err := p.writeFile(w, root, t, e); err != nil {
			return err
		}
	}
	return nil
}

func (p *packer) writeEntry(w *bufio.Writer, root *os.Root, t *treeStream, e entry) error {
	switch {
	case e.kind == '?' && strings.HasSuffix(e.path, "/"), e.isSubmodule, e.index.mode == modeSub && e.mode == modeSub:
		if !p.isSaved(t.Dir, e.path) {
			p.src.note("%s: %q is a repository of its own, and is not saved", t.Dir, e.path)
		}
		return nil
	case e.changed == '.' || e.changed == 'D' || e.mode == modeNone:
		return nil
	}
	return p.writeFile(w, root, t, e)
}

// isSaved reports whether a folder in a worktree is one that is saved.
func (p *packer) isSaved(dir, path string) bool {
	for _, known := range p.git.places {
		if sameDir(known.top, dir+"/"+path) {
			return true
		}
	}
	return false
}

// writeFile writes a file as it is now. One that is gone by now is not there: for git
// too it will be, unless the index has it without a file (sparse checkouts).
func (p *packer) writeFile(w *bufio.Writer, root *os.Root, t *treeStream, e entry) error {
	if e.mode == modeSub || e.mode == modeNone {
		return nil
	}
	to := t.path("work/", e.path)
	info, err := root.Lstat(e.path)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return p.writeLink(w, root, e.path, to)
	case errors.Is(err, fs.ErrNotExist) && e.changed != '.':
		fmt.Fprintf(w, "D %s\n", to)
		return nil
	case err != nil && e.changed == '.':
		return nil
	case err == nil:
		if id := p.stamps.id(t.Dir+"\x00"+e.path, info); id != "" {
			fmt.Fprintf(w, "M %s %s %s\n", e.modeOf(fileMode(info)), id, to)
			return nil
		}
	}
	return p.writeContent(w, root, t, e)
}

// modeOf is the mode that a file is saved with.
func (e *entry) modeOf(here string) string {
	if e.kind == '?' || e.mode == modeLink {
		return here
	}
	return e.mode
}

// writeContent writes the bytes of a file.
func (p *packer) writeContent(w *bufio.Writer, root *os.Root, t *treeStream, e entry) error {
	f, info, err := files.OpenIn(root, e.path)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, files.ErrNotRegular) {
		p.src.note("%s: %q is not saved: %s", t.Dir, e.path, reason(err))
		return nil
	}
	if err != nil {
		return errMovedOr(err)
	}
	defer f.Close()
	fmt.Fprintf(w, "M %s inline %s\ndata %d\n", e.modeOf(fileMode(info)), t.path("work/", e.path), info.Size())
	sum := blobHash(info.Size())
	// A file that grows is saved as it was when it was opened.
	if n, err := io.CopyN(io.MultiWriter(w, sum), f, info.Size()); err != nil {
		return errMovedOr(fmt.Errorf("read %q: %d of %d bytes: %w", e.path, n, info.Size(), err))
	}
	p.stamps.read(t.Dir+"\x00"+e.path, info, sum)
	return w.WriteByte('\n')
}

func (p *packer) writeLink(w *bufio.Writer, root *os.Root, path, to string) error {
	target, err := root.Readlink(path)
	if err != nil {
		return errMovedOr(err)
	}
	fmt.Fprintf(w, "M %s inline %s\ndata %d\n%s\n", modeLink, to, len(target), target)
	return nil
}

// errMovedOr tells a file that changes while it is read from one that can't be read.
func errMovedOr(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", errMovedNow, err)
	}
	return err
}

func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
