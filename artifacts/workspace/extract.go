package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// CommitPath is a file or directory in a commit.
type CommitPath struct {
	Dir    string // a directory in the worktree; Name is relative to it
	Commit string // full hash of the commit
	Name   string // path of a file or directory
}

// Limits on the files that Extract writes: their number, and their total size in bytes.
const (
	maxEntries = 1000
	maxBytes   = 256 << 20
)

// Extract writes a file or directory from a commit into the directory to. The path a/b in the repository
// becomes to/a/b. The working tree is not read. Symbolic links are skipped, because they may point outside
// of the commit. Before it writes files, Extract copies the objects into a new repository. So filters and
// attributes of the checkout have no effect, and an object that an agent stored under another object's
// hash is not used.
func (g *Git) Extract(ctx context.Context, c CommitPath, to string) error {
	if !isID(c.Commit) {
		return errors.New("the commit must be a full hash")
	}
	t, err := g.open()
	if err != nil {
		return err
	}
	defer t.close()
	bare, list, err := t.committedFiles(ctx, &c)
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
	var ids []string
	for _, f := range list {
		ids = append(ids, f.id)
	}
	left := int64(maxBytes)
	return t.eachBlob(ctx, bare, ids, func(i int, blob *io.LimitedReader) error {
		if left -= blob.N; left < 0 {
			return fmt.Errorf("the files of %q in commit %s have more than %s", c.Name, c.Commit, formatBytes(maxBytes))
		}
		return errors.Join(makeDir(root, path.Dir(list[i].path)), writeFile(root, list[i].path, list[i].mode, blob))
	})
}

// committedFile is a file or a directory in a commit.
type committedFile struct {
	item
	path string
}

// committedFiles returns the regular files that a CommitPath names, and a new bare repository that
// contains them. It changes c.Name to a path relative to the repository.
func (t *tool) committedFiles(ctx context.Context, c *CommitPath) (bare string, list []committedFile, err error) {
	p, err := t.worktree(ctx, c.Dir)
	if err != nil {
		return "", nil, err
	}
	lent, err := t.initBorrower(ctx, filepath.Join(t.temp, "lent"), p.common)
	if err != nil {
		return "", nil, err
	}
	rel, err := filepath.Rel(resolved(p.top), resolved(c.Dir))
	if err != nil {
		return "", nil, err
	}
	c.Name = path.Join(filepath.ToSlash(rel), filepath.ToSlash(c.Name))
	claimed, err := t.listCommitted(ctx, lent, *c)
	if err != nil {
		return "", nil, err
	}
	tree, err := t.id(ctx, call{dir: lent, bare: lent}, c.Commit+"^{tree}")
	if err != nil {
		return "", nil, err
	}
	names := lines(c.Commit, tree)
	for _, f := range claimed {
		names += lines(f.id)
	}
	bare = filepath.Join(t.temp, "committed")
	if err := t.copyObjects(ctx, lent, bare, names, nil, maxBytes); err != nil {
		return "", nil, fmt.Errorf("the files of %q in commit %s: %w", c.Name, c.Commit, err)
	}
	if list, err = t.listCommitted(ctx, bare, *c); err != nil {
		return "", nil, err
	}
	list = slices.DeleteFunc(list, func(f committedFile) bool { return f.mode == modeTree })
	switch {
	case len(list) == 0:
		return "", nil, fmt.Errorf("commit %s has no %q", c.Commit, c.Name)
	case len(list) > maxEntries:
		return "", nil, fmt.Errorf("%q of commit %s has %d files, more than %d", c.Name, c.Commit, len(list), maxEntries)
	}
	return bare, list, nil
}

// listCommitted lists the regular files that a CommitPath names, and the directories that contain them.
func (t *tool) listCommitted(ctx context.Context, bare string, c CommitPath) (list []committedFile, err error) {
	args := []string{"ls-tree", "-r", "-t", "-z", c.Commit}
	if c.Name != "." {
		args = append(args, "--", c.Name)
	}
	out, err := t.output(ctx, call{dir: bare, bare: bare}, args...)
	for line := range strings.SplitSeq(string(out), "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about) // the mode, the type and the id
		if len(fields) == 3 && slices.Contains([]string{modeFile, modeExec, modeTree}, fields[0]) {
			list = append(list, committedFile{item{fields[0], fields[2]}, path})
		}
	}
	return list, err
}

// Base returns the commit at which the checkout of a worktree started. This is the commit started if HEAD
// is that commit or a descendant, and otherwise HEAD. It returns "" if git, the repository or the commit is
// missing. Base also records the tags of the checkout in g.TagsDir, so that a later save contains only tags
// that were created after this call.
func (g *Git) Base(ctx context.Context, dir, started string) string {
	t, err := g.open()
	if err != nil {
		return ""
	}
	defer t.close()
	// If a record of the tags from earlier in the job exists, it stays unchanged. After an error, a save contains all
	// tags.
	if p, _ := t.location(ctx, dir); p != nil && t.tagsFile(p) != "" {
		if at, err := t.refs(ctx, p); err == nil {
			_ = errors.Join(os.MkdirAll(g.TagsDir, 0o700), files.WriteNew(t.tagsFile(p), []byte(at.raw), 0o600))
		}
	}
	if isID(started) && t.run(ctx, call{dir: dir}, "merge-base", "--is-ancestor", started, "HEAD") == nil {
		return started
	}
	head, err := t.id(ctx, call{dir: dir}, "HEAD^{commit}")
	if err != nil {
		return ""
	}
	return head
}
