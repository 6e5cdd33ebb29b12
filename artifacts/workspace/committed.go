package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Committed is a part of what a repository has at a commit.
type Committed struct {
	Dir    string // a directory of the repository's worktree: Name is relative to it
	Commit string // the full name of the commit
	Name   string // of a file or folder
}

// Extract writes a part of a commit below to, whatever the working tree holds: the
// part named a/b becomes to/a/b. Links are left out: where they lead is not the
// commit's.
func (g *Git) Extract(ctx context.Context, c Committed, to string) error {
	t, err := g.open("none")
	if err != nil {
		return err
	}
	if !isFullName(c.Commit) {
		return errors.New("the commit is not named in full")
	}
	entries, err := t.entries(ctx, c)
	if err != nil {
		return err
	}
	return t.writeOut(ctx, c.Dir, entries, to)
}

// isFullName reports whether s is the full name of an object, of either format.
func isFullName(s string) bool { return isID(s, "sha1") || isID(s, "sha256") }

// committedFile is a file of a commit.
type committedFile struct {
	mode fs.FileMode
	id   string
	path string
}

// maxEntries is how many files a workflow may have.
const maxEntries = 1000

// entries are the regular files of the part.
func (t *tool) entries(ctx context.Context, c Committed) ([]committedFile, error) {
	args := []string{"ls-tree", "-r", "-z", c.Commit}
	if c.Name != "." {
		args = append(args, "--", filepath.ToSlash(c.Name))
	}
	out, err := t.output(ctx, call{dir: c.Dir}, args...)
	if err != nil {
		return nil, err
	}
	var list []committedFile
	for line := range strings.SplitSeq(string(out), "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about) // mode, type and id
		if len(fields) != 3 || fields[0] != "100644" && fields[0] != "100755" {
			continue
		}
		e := committedFile{mode: 0o644, id: fields[2], path: path}
		if fields[0] == "100755" {
			e.mode = 0o755
		}
		list = append(list, e)
	}
	switch {
	case len(list) == 0:
		return nil, fmt.Errorf("commit %s has no %q", c.Commit, c.Name)
	case len(list) > maxEntries:
		return nil, fmt.Errorf("%q of commit %s has %d files, more than %d", c.Name, c.Commit, len(list), maxEntries)
	}
	return list, nil
}

// writeOut writes files of the repository that dir is in.
func (t *tool) writeOut(ctx context.Context, dir string, entries []committedFile, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range entries {
		if err := root.MkdirAll(path.Dir(e.path), 0o700); err != nil {
			return err
		}
		f, err := root.OpenFile(e.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, e.mode)
		if err != nil {
			return err
		}
		err = t.run(ctx, call{dir: dir, out: f}, "cat-file", "blob", e.id)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Base returns the commit that a worktree was checked out at: started, which the
// remote has, where HEAD is that or was made on top of it, and else HEAD. It is ""
// where there is no commit, no repository or no git.
func (g *Git) Base(ctx context.Context, dir, started string) string {
	t, err := g.open("none")
	if err != nil {
		return ""
	}
	if isFullName(started) && t.run(ctx, call{dir: dir}, "merge-base", "--is-ancestor", started, "HEAD") == nil {
		return started
	}
	out, err := t.output(ctx, call{dir: dir}, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
