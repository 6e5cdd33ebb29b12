package workspace

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
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
	args := []string{"archive", "--format=tar", c.Commit}
	if c.Name != "." {
		args = append(args, "--", filepath.ToSlash(c.Name))
	}
	data, err := t.output(ctx, call{dir: c.Dir}, args...)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = unpackEntry(root, h, r)
		}
		if err != nil {
			return err
		}
	}
}

// isFullName reports whether s is the full name of an object, of either format.
func isFullName(s string) bool { return isID(s, "sha1") || isID(s, "sha256") }

func unpackEntry(root *os.Root, h *tar.Header, r io.Reader) error {
	if err := root.MkdirAll(path.Dir(h.Name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, h.FileInfo().Mode().Perm()&0o755|0o400)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
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
