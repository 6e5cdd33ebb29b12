package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// part is a file or folder of a commit, in a repository of our own: neither a filter nor
// an attribute of a checkout changes what comes out.
type part struct {
	git    *tool
	bare   string // the repository
	commit string
	name   string // in the repository; "." for all of it
}

// writeOut writes the files of the part below to.
func (p *part) writeOut(ctx context.Context, entries []committedFile, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.id)
	}
	left := int64(maxBytes)
	return p.git.blobs(ctx, p.bare, ids, func(i int, blob *io.LimitedReader) error {
		if left -= blob.N; left < 0 {
			return fmt.Errorf("the files of %q in commit %s have more than %s", p.name, p.commit, sizes(maxBytes))
		}
		return entries[i].write(root, blob)
	})
}

// How many files a workflow may have, and how many bytes these.
const (
	maxEntries = 1000
	maxBytes   = 256 << 20
)

// committedFile is a file of a commit.
type committedFile struct {
	mode fs.FileMode
	id   string
	path string
}

// entries are the regular files of the part. Links are left out: where they lead is
// not the commit's.
func (p *part) entries(ctx context.Context) ([]committedFile, error) {
	args := []string{"ls-tree", "-r", "-z", p.commit}
	if p.name != "." {
		args = append(args, "--", p.name)
	}
	out, err := p.git.output(ctx, call{dir: p.bare, bare: p.bare}, args...)
	if err != nil {
		return nil, err
	}
	var list []committedFile
	perms := map[string]fs.FileMode{modeFile: 0o644, modeExec: 0o755}
	for _, line := range strings.Split(string(out), "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about) // mode, type and id
		if len(fields) == 3 && perms[fields[0]] != 0 {
			list = append(list, committedFile{perms[fields[0]], fields[2], path})
		}
	}
	switch {
	case len(list) == 0:
		return nil, fmt.Errorf("commit %s has no %q", p.commit, p.name)
	case len(list) > maxEntries:
		return nil, fmt.Errorf("%q of commit %s has %d files, more than %d", p.name, p.commit, len(list), maxEntries)
	}
	return list, nil
}

func (e *committedFile) write(root *os.Root, blob io.Reader) error {
	if err := root.MkdirAll(path.Dir(e.path), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(e.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, e.mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, blob)
	return errors.Join(err, f.Close())
}
