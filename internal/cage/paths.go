package cage

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readable returns paths that together cover everything that may be read. A directory with hidden files below
// it is replaced with its other entries. Entries that are created there later can't be read.
func (p Policy) readable() []string {
	roots := ResolveAll(p.Readable)
	if p.Readable == nil {
		roots = []string{string(filepath.Separator)}
	}
	hidden, w := ResolveAll(p.Hidden), walk{}
	for _, root := range roots {
		w.hidden = below(root, hidden)
		w.add(root)
	}
	return w.found
}

// below returns the paths that are below root.
func below(root string, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == root || !IsWithin(p, root) })
}

// CanRead reports whether the policy allows reading an existing path that contains no symbolic links.
func (p Policy) CanRead(path string) bool {
	isIn := func(folder string) bool { return IsWithin(path, folder) }
	hidden := ResolveAll(p.Hidden)
	return p.Readable == nil || slices.ContainsFunc(ResolveAll(p.Readable), func(root string) bool {
		return isIn(root) && !slices.ContainsFunc(below(root, hidden), isIn)
	})
}

// writable returns the paths that may be written, with everything below them.
func (p Policy) writable() []string {
	if p.IsTrusted {
		return p.readable()
	}
	return ResolveAll(p.Writable)
}

// ResolveAll returns the existing paths without symbolic links, sorted and without duplicates.
func ResolveAll(paths []string) []string {
	var out []string
	for _, path := range paths {
		if target := Resolve(path); target != "" {
			out = append(out, target)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// evalSymlinks returns a path without symbolic links, with filepath.EvalSymlinks; "" if it fails.
func evalSymlinks(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(target) {
		return ""
	}
	return target
}

// walk collects paths that contain nothing hidden.
type walk struct {
	hidden []string
	found  []string
}

// add adds a path or, if something below it is hidden, the entries of that directory. Symbolic links are
// skipped, because access depends only on their targets.
func (w *walk) add(path string) {
	if slices.ContainsFunc(w.hidden, func(h string) bool { return IsWithin(path, h) }) {
		return
	}
	if !slices.ContainsFunc(w.hidden, func(h string) bool { return IsWithin(h, path) }) {
		w.found = append(w.found, path)
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return // if it can't be listed, it isn't readable either
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			w.add(filepath.Join(path, e.Name()))
		}
	}
}

// OpenDir opens a directory in which caged processes work. The directory must be below a writable directory,
// and is opened relative to it: if an agent replaces a part of the path with a symbolic link, the link can't
// lead out of the writable directory. A nil Cage opens every directory.
func (c *Cage) OpenDir(dir string) (*os.Root, error) {
	if c == nil {
		return os.OpenRoot(dir)
	}
	at := Resolve(dir)
	for _, top := range c.policy.writable() {
		if rel, err := filepath.Rel(top, at); err == nil && IsWithin(at, top) {
			root, err := os.OpenRoot(top)
			if err != nil {
				return nil, err
			}
			defer root.Close()
			return root.OpenRoot(rel)
		}
	}
	return nil, &os.PathError{Op: "open", Path: dir, Err: os.ErrPermission}
}

// FollowLinks returns a clean absolute path without symbolic links; if the path doesn't exist, it returns the
// nearest existing parent directory. A path that leads into the workspace and then, through a link in it, out
// again is an error, because pull requests and agents can create such links. A path whose text names a place
// outside of the workspace is allowed.
func FollowLinks(path, workspace string) (target string, err error) {
	top := Resolve(workspace)
	for last := ""; path != last; last, path = path, filepath.Dir(path) {
		here := Resolve(path)
		if target = cmp.Or(target, here); IsWithin(here, top) && !IsWithin(target, top) {
			return "", errors.New("a link leads out of the workspace; use the absolute path if that is intended")
		}
	}
	return target, nil
}

// IsWithin reports whether a clean path is dir or below it.
func IsWithin(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator)))
	return ok && dir != "" && (rest == "" || rest[0] == filepath.Separator)
}
