package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// filtered returns the name of the git filter, for example "lfs", of each path that has one.
func (t *tool) filtered(ctx context.Context, dir string, paths []string) (map[string]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	in := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := t.output(ctx, call{dir: dir, in: in}, "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	filters := map[string]string{}
	fields := strings.Split(string(out), "\x00")
	for f := range slices.Chunk(fields, 3) {
		if len(f) == 3 && f[2] != "unspecified" && f[2] != "unset" {
			filters[f[0]] = f[2]
		}
	}
	return filters, nil
}

// withoutLFS removes files from the status that only seem changed because the filter of git LFS did not
// run. The index entry of these files is the LFS pointer to the content. Saving these files would store the
// large contents that LFS keeps out of repositories.
func (t *tool) withoutLFS(ctx context.Context, wt *worktree) error {
	var paths []string
	for _, e := range wt.status {
		if e.pointsElsewhere() {
			paths = append(paths, e.path)
		}
	}
	filters, err := t.filtered(ctx, wt.Dir, paths)
	if err != nil || len(filters) == 0 {
		return err
	}
	root, err := os.OpenRoot(wt.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for i := range wt.status {
		e := &wt.status[i]
		if !e.pointsElsewhere() || filters[e.path] != "lfs" {
			continue
		}
		same, err := t.isPointed(ctx, root, *e)
		if err != nil {
			return err
		}
		if same {
			e.changed = '.'
		}
	}
	wt.status = slices.DeleteFunc(wt.status, func(e entry) bool { return e.changed == '.' && e.staged == '.' })
	return nil
}

// pointsElsewhere reports whether the index entry may be an LFS pointer. This is possible only if the file
// differs from the entry in its content alone.
func (e *entry) pointsElsewhere() bool {
	return e.kind == '1' && e.changed == 'M' && !e.isSubmodule && e.mode == e.index[0].mode && e.mode != modeLink
}

// pointerForm matches the pointer that git LFS stores instead of a file's content.
var pointerForm = text.Regexp(`\Aversion https://git-lfs\.github\.com/spec/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\nsize ([0-9]+)\n\z`)

// isPointed reports whether the index entry of a path is the LFS pointer to the file's current content.
func (t *tool) isPointed(ctx context.Context, root *os.Root, e entry) (bool, error) {
	pointer, err := t.output(ctx, call{dir: root.Name()}, "cat-file", "blob", e.index[0].id)
	if err != nil {
		return false, err
	}
	m := pointerForm().FindSubmatch(pointer)
	if m == nil {
		return false, nil
	}
	f, info, err := files.OpenIn(root, e.path)
	if err != nil {
		return false, nil // git LFS writes only regular files
	}
	defer f.Close()
	if fmt.Sprint(info.Size()) != string(m[2]) {
		return false, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false, err
	}
	return hex.EncodeToString(h.Sum(nil)) == string(m[1]), nil
}
