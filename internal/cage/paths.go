package cage

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readable returns paths that together cover everything that may be read. If something below a directory
// is hidden, the directory is replaced with its other entries. Entries that are created in it later
// can't be read.
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

// below returns the elements of paths that are below root. It doesn't return root itself.
func below(root string, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == root || !IsWithin(p, root) })
}

// CanRead reports whether Readable and Hidden allow reading an existing path. It doesn't consider Writable.
// The path must not contain symbolic links.
func (p Policy) CanRead(path string) bool {
	isIn := func(folder string) bool { return IsWithin(path, folder) }
	hidden := ResolveAll(p.Hidden)
	return p.Readable == nil || slices.ContainsFunc(ResolveAll(p.Readable), func(root string) bool {
		return isIn(root) && !slices.ContainsFunc(below(root, hidden), isIn)
	})
}

// writable returns the paths that may be written. Everything below them may be written too.
func (p Policy) writable() []string {
	if p.IsTrusted {
		return p.readable()
	}
	return ResolveAll(p.Writable)
}

// ResolveAll replaces the symbolic links in paths and returns the results, sorted and without
// duplicates. It omits paths that don't exist.
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

// evalSymlinks resolves the symbolic links in an absolute path with filepath.EvalSymlinks. It returns ""
// if that fails.
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

// add adds a path to w.found. If something below the path is hidden, it adds the directory's other entries
// instead. It skips symbolic links, because access depends only on their targets.
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
		// A directory that can't be listed can't be read either.
		return
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			w.add(filepath.Join(path, e.Name()))
		}
	}
}

// OpenDir opens a directory in which caged processes work: one of the policy's writable directories, or a
// directory below one. If an agent replaces a part of the path with a symbolic link that leaves the writable
// directory, OpenDir returns an error. A nil Cage opens every directory.
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

// FollowLinks resolves the symbolic links in a clean absolute path. If the path doesn't exist, it
// resolves the nearest existing parent directory instead. It returns an error if the path enters the
// workspace and then leaves it through a link, because pull requests and agents can create such links. A
// path that never enters the workspace is allowed.
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

// IsWithin reports whether a clean path is dir or is below it. It returns false if dir is empty.
func IsWithin(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator)))
	return ok && dir != "" && (rest == "" || rest[0] == filepath.Separator)
}

// SystemPaths returns the files of the machine that programs need and that don't contain data of a job or a
// user. If these directories contain symbolic links to other directories, the targets are not included.
func SystemPaths() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap", "/home/linuxbrew",
		"/proc", "/sys", "/var/lib", "/var/cache",
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts", "/dev/ptmx", "/dev/shm",
	}
}
