package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
)

// worktrees is the name of a directory below the temporary directory. It contains worktrees that were
// outside of the workspace on the old machine.
const worktrees = "raymond-worktrees"

// Relocation returns a function that maps an absolute directory on the old machine to one on this machine.
// Directories in the old workspace or temporary directory keep their relative path in the new one. trees
// are the top directories of git worktrees elsewhere. Each of them, with everything in it, maps to
// {temp}/raymond-worktrees/{name}-{6 hex digits of the SHA-256 of the old path}. If several of these
// directories contain a path, the innermost one applies. All other paths stay unchanged. Paths are parsed
// by the rules of the system old.OS, on Windows ignoring case, and returned in the form of here.OS.
func Relocation(old, here MachineDirs, trees []string) func(string) string {
	r := relocation{fromWindows: old.OS == "windows", toWindows: here.OS == "windows"}
	r.add(old.Workspace, here.Workspace)
	r.add(old.Temp, here.Temp)
	folders := r // without trees, because a tree inside another tree is mapped separately
	for _, tree := range trees {
		if _, _, isInside := folders.find(tree); !isInside && here.Temp != "" {
			// The name consists of the last element of the worktree's path and a hash of the whole path.
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
			r.add(tree, here.Temp+"/"+worktrees+"/"+base+"-"+hex.EncodeToString(sum[:3]))
		}
	}
	return r.move
}

// relocation is a list of directories that are mapped to other directories.
type relocation struct {
	fromWindows, toWindows bool
	moves                  []move
}

// move maps the directory old, and everything in it, to the directory here.
type move struct {
	old  string // ends with a slash
	here string
}

// add adds a mapped directory, unless old or here is empty.
func (r *relocation) add(old, here string) {
	if old != "" && here != "" {
		r.moves = append(r.moves, move{r.cleanSlashed(old), strings.TrimRight(here, `/\`)})
	}
}

// cleanSlashed returns a cleaned path with slashes as separators and a slash at the end.
func (r *relocation) cleanSlashed(p string) string {
	if r.fromWindows {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	return strings.TrimSuffix(path.Clean(p), "/") + "/"
}

// find returns the innermost mapped directory that contains dir, and the rest of dir's path below it.
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

// move returns the directory to which dir is mapped. If no mapped directory contains dir, it returns dir.
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
