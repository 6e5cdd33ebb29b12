package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
)

// worktrees is the directory below the temporary one for worktrees that were elsewhere on the old
// machine.
const worktrees = "raymond-worktrees"

// Relocation returns a function that maps an absolute directory of the old machine to this one.
// Directories in the old workspace or temporary directory map to the same place in the new one. trees
// are the tops of git worktrees elsewhere: they and everything in them map to
// {temp}/raymond-worktrees/{name}-{6 hex digits of the SHA-256 of the old path}. If several known
// directories contain a path, the innermost one applies. All other paths stay unchanged. Paths are
// parsed by the rules of old.OS, on Windows without regard to case, and returned by the rules of
// here.OS.
func Relocation(old, here MachineDirs, trees []string) func(string) string {
	r := relocation{fromWindows: old.OS == "windows", toWindows: here.OS == "windows"}
	r.add(old.Workspace, here.Workspace)
	r.add(old.Temp, here.Temp)
	folders := r // a tree may contain another tree, which moves separately
	for _, tree := range trees {
		if _, _, isInside := folders.find(tree); !isInside && here.Temp != "" {
			r.add(tree, here.Temp+"/"+worktrees+"/"+r.unique(tree))
		}
	}
	return r.move
}

// relocation is a list of moved directories.
type relocation struct {
	fromWindows, toWindows bool
	moves                  []move
}

type move struct {
	old  string // ends with a slash
	here string
}

func (r *relocation) add(old, here string) {
	if old != "" && here != "" {
		r.moves = append(r.moves, move{r.cleanSlashed(old), strings.TrimRight(here, `/\`)})
	}
}

// cleanSlashed returns a cleaned path in which every element ends with a slash.
func (r *relocation) cleanSlashed(p string) string {
	if r.fromWindows {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	return strings.TrimSuffix(path.Clean(p), "/") + "/"
}

// find returns the innermost moved directory that contains dir, and the rest of the path.
func (r *relocation) find(dir string) (best move, rest string, ok bool) {
	dir = r.cleanSlashed(dir)
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

// unique returns the last element of a worktree's path with a hash of the whole path.
func (r *relocation) unique(tree string) string {
	whole := strings.TrimSuffix(r.cleanSlashed(tree), "/")
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
