package cage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readable returns the paths that together are all that may be read: the root, less
// what is hidden, whose neighbours are listed one by one. What is made later beside a
// hidden path is not among them.
func (p Policy) readable() []string {
	if p.Readable != nil {
		return resolved(p.Readable)
	}
	// What a writable folder contains can't be hidden, so nothing is listed for its sake.
	exposed := p.Exposed()
	w := walk{hidden: slices.DeleteFunc(resolved(p.Hidden), func(h string) bool { return slices.Contains(exposed, h) })}
	w.add(string(filepath.Separator))
	return append(w.found, resolved(p.Shown)...)
}

// writable returns the paths below which may be written.
func (p Policy) writable() []string {
	if p.IsTrusted {
		return p.readable()
	}
	return resolved(p.Writable)
}

// resolved follows links, and leaves out what doesn't exist.
func resolved(paths []string) []string {
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

// IsWithin reports whether a clean path is dir or below it.
func IsWithin(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator)))
	return ok && dir != "" && (rest == "" || rest[0] == filepath.Separator)
}

// Exposed returns which hidden paths can be read all the same, since a writable or a
// shown folder contains them, or is the same.
func (p Policy) Exposed() []string {
	open := append(resolved(p.Writable), resolved(p.Shown)...)
	return slices.DeleteFunc(resolved(p.Hidden), func(h string) bool {
		return !slices.ContainsFunc(open, func(o string) bool { return IsWithin(h, o) })
	})
}
