package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
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
func Relocation(old, here MachineDirs, trees []string) func(string) string {
	r := relocation{fromWindows: old.OS == "windows", toWindows: here.OS == "windows"}
	r.add(old.Workspace, here.Workspace)
	r.add(old.Temp, here.Temp)
	folders := r // a tree may lie in another one, and moves by itself
	for _, tree := range trees {
		if _, _, isInside := folders.find(tree); !isInside && here.Temp != "" {
			r.add(tree, here.Temp+"/"+worktrees+"/"+r.unique(tree))
		}
	}
	return r.move
}

// relocation is where folders have moved to.
type relocation struct {
	fromWindows, toWindows bool
	moves                  []move
}

type move struct {
	old  string // with a slash at its end
	here string
}

func (r *relocation) add(old, here string) {
	if old != "" && here != "" {
		r.moves = append(r.moves, move{r.slashed(old), strings.TrimRight(here, `/\`)})
	}
}

// slashed is a path without "." and "..", whose names all end with a slash.
func (r *relocation) slashed(p string) string {
	if r.fromWindows {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	return strings.TrimSuffix(path.Clean(p), "/") + "/"
}

// find returns the innermost folder that holds a path, and the path in it.
func (r *relocation) find(dir string) (best move, rest string, ok bool) {
	dir = r.slashed(dir)
	for _, m := range r.moves {
		n := len(m.old)
		if n > len(dir) || n <= len(best.old) {
			continue
		}
		if dir[:n] == m.old || r.fromWindows && strings.EqualFold(dir[:n], m.old) {
			best, rest, ok = m, dir[n:], true
		}
	}
	return best, rest, ok
}

func (r *relocation) move(dir string) string {
	m, rest, ok := r.find(dir)
	if !ok {
		return dir
	}
	to := strings.TrimSuffix(m.here+"/"+rest, "/")
	if r.toWindows {
		to = strings.ReplaceAll(to, "/", `\`)
	}
	return to
}

// unique names a tree by its last name and a hash of all of them.
func (r *relocation) unique(tree string) string {
	whole := strings.TrimSuffix(r.slashed(tree), "/")
	base := strings.Map(func(c rune) rune {
		if c < ' ' || strings.ContainsRune(`<>:"|?*\`, c) {
			return '-'
		}
		return c
	}, path.Base(whole))
	if r.fromWindows {
		whole = strings.ToLower(whole)
	}
	sum := sha256.Sum256([]byte(whole))
	return base + "-" + hex.EncodeToString(sum[:3])
}
