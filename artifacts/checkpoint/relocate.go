package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// worktrees is the folder below the temporary one that worktrees from elsewhere
// go to.
const worktrees = "raymond-worktrees"

// Relocation returns where an absolute directory of the old machine lies here.
// What is in the old workspace or temporary folder is at the same place in the
// present one. trees are the tops of git worktrees outside of both: they go to
// {temp}/raymond-worktrees/{name}-{6 hex digits of the SHA-256 of the old path},
// with all that is in them. Of several folders that hold a directory the
// innermost counts, and whole names do. Everything else stays as it is, letter by
// letter. Paths are taken as old.OS writes them, where on Windows case doesn't
// count, and are returned as here.OS does.
func Relocation(old, here Places, trees []string) func(string) string {
	from, to := dialect{old.OS == "windows"}, dialect{here.OS == "windows"}
	r := &relocation{from: from, to: to}
	r.add(old.Workspace, here.Workspace)
	r.add(old.Temp, here.Temp)
	for _, tree := range r.outside(trees) {
		if here.Temp != "" {
			r.add(tree, to.join(here.Temp, []string{worktrees, from.unique(tree)}))
		}
	}
	return r.move
}

// relocation is a list of folders that have moved.
type relocation struct {
	from, to dialect
	moves    []move
}

type move struct {
	old  []string
	here string
}

func (r *relocation) add(old, here string) {
	if old != "" && here != "" {
		r.moves = append(r.moves, move{r.from.split(old), here})
	}
}

// outside returns the trees that no folder so far holds.
func (r *relocation) outside(trees []string) []string {
	return slices.DeleteFunc(slices.Clone(trees), func(tree string) bool {
		_, _, inside := r.find(r.from.split(tree))
		return inside || tree == ""
	})
}

func (r *relocation) move(dir string) string {
	names := r.from.split(dir)
	m, rest, ok := r.find(names)
	if !ok {
		return dir
	}
	return r.to.join(m.here, rest)
}

// find returns the innermost folder that holds a path, and the path in it.
func (r *relocation) find(names []string) (best move, rest []string, ok bool) {
	for _, m := range r.moves {
		n := len(m.old)
		if n > len(names) || ok && n <= len(best.old) || !slices.EqualFunc(m.old, names[:n], r.from.same) {
			continue
		}
		best, rest, ok = m, names[n:], true
	}
	return best, rest, ok
}

// dialect is how a system writes paths.
type dialect struct{ windows bool }

// split returns the names of a path, without "." and "..", the first of them
// being the root: "" on Unix, the drive or the share's double slash on Windows.
func (d dialect) split(p string) []string {
	if d.windows {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	share := d.windows && strings.HasPrefix(p, "//")
	p = path.Clean(p)
	if share {
		p = "/" + p
	}
	names := strings.Split(p, "/")
	if names[len(names)-1] == "" {
		names = names[:len(names)-1] // of a root
	}
	return names
}

func (d dialect) same(a, b string) bool {
	return a == b || d.windows && strings.EqualFold(a, b)
}

// join puts names behind a folder.
func (d dialect) join(dir string, names []string) string {
	separator := "/"
	if d.windows {
		separator = `\`
	}
	if len(names) == 0 {
		return dir
	}
	return strings.TrimSuffix(dir, separator) + separator + strings.Join(names, separator)
}

// unique names a tree by its last name and a hash of all of them.
func (d dialect) unique(tree string) string {
	names := d.split(tree)
	whole := strings.Join(names, "/")
	if d.windows {
		whole = strings.ToLower(whole)
	}
	sum := sha256.Sum256([]byte(whole))
	base := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`<>:"|?*\`, r) {
			return '-'
		}
		return r
	}, names[len(names)-1])
	return base + "-" + hex.EncodeToString(sum[:3])
}
