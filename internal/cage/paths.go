package cage

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readable returns the paths that together are all that may be read. Where something below one of them is hidden, it
// is what lies beside that, and what is made there later is not among it.
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

// below returns the paths that lie below another one.
func below(root string, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == root || !IsWithin(p, root) })
}

// CanRead reports whether an existing path, without links, is among what is Readable.
func (p Policy) CanRead(path string) bool {
	isIn := func(folder string) bool { return IsWithin(path, folder) }
	hidden := ResolveAll(p.Hidden)
	return p.Readable == nil || slices.ContainsFunc(ResolveAll(p.Readable), func(root string) bool {
		return isIn(root) && !slices.ContainsFunc(below(root, hidden), isIn)
	})
}

// writable returns the paths below which may be written.
func (p Policy) writable() []string {
	if p.IsTrusted {
		return p.readable()
	}
	return ResolveAll(p.Writable)
}

// ResolveAll are paths without links, in order and each once, and without what doesn't exist.
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

// evaluated is a path without links, as Go finds it.
func evaluated(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(target) {
		return ""
	}
	return target
}

// walk collects paths around what is hidden.
type walk struct {
	hidden []string
	found  []string
}

// add adds a path, or what is in it if something there is hidden. Links need no right.
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
		return // whoever can't list it can't be shown it
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			w.add(filepath.Join(path, e.Name()))
		}
	}
}

// OpenDir opens a folder in which caged processes work. It is below a folder that they may write: no link that they make in the
// place of another one leads out of that. Without a cage every folder is opened.
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

// FollowLinks returns where a clean absolute path leads, without links; of what is missing, where the folder around it is. A path that
// leads into a workspace and, by a link there, out of it again is an error: pull requests and agents make links. A path that
// names a place outside by itself is allowed.
func FollowLinks(path, workspace string) (target string, err error) {
	top := Resolve(workspace)
	for last := ""; path != last; last, path = path, filepath.Dir(path) {
		here := Resolve(path)
		if target = cmp.Or(target, here); IsWithin(here, top) && !IsWithin(target, top) {
			return "", errors.New("a link leads out of the workspace; give the whole path if that is meant")
		}
	}
	return target, nil
}

// IsWithin reports whether a clean path is dir or below it.
func IsWithin(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator)))
	return ok && dir != "" && (rest == "" || rest[0] == filepath.Separator)
}
