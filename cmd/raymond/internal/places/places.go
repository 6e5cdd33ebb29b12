// Package places says which files agents of a run need, and which they must not have,
// by where the run takes place. It is small, and imports little, since one command that
// is to be caged waits for it.
package places

import (
	"os"
	"slices"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// Site is where a run takes place, as far as its files are concerned. All paths are
// absolute.
type Site struct {
	Environ   []string // of agents
	Dir       string   // where the run works
	Workspace string   // what folders that a user names are relative to
	Temp      string   // the job's temporary folder, of which nothing is shown; "" where there is none
	Hidden    []string // run files, command files and the like
	Shown     []string // what lies below Temp and is needed all the same
	Guarded   []string // what agents must not write: the action's own code
	CLIs      CLIs
}

// CLIs are the needs of the agent CLIs that agents at a site are run with. All paths are absolute.
type CLIs struct {
	Read    []string // read although they hold keys
	Write   []string // folders, made where they are missing
	Hidden  []string // keys of other agent CLIs
	Guarded []string // what they obey
}

// Wish says what else agents are to have.
type Wish struct {
	Own       string   // the run's own temporary folder, as MakeOwn has made it
	Extra     []string // folders that a user names, without links
	OwnCaches bool     // caches of package managers are below Own, not those of the machine
}

// Plan is what agents get.
type Plan struct {
	Files   cage.Policy // without a network
	Env     []string    // variables that lead programs to their places
	Commons []string    // folders of git that linked worktrees share
	Guarded []string    // what agents must not write, which a writable folder may contain all the same
}

// MakeOwn makes a temporary folder for a run, below another one; "" is the system's.
// Its path is short, since sockets in it have paths of 108 bytes at most.
func MakeOwn(temp string) (string, error) {
	name := "r-*"
	if temp == "" {
		temp, name = os.TempDir(), "raymond-*"
	}
	own, err := os.MkdirTemp(temp, name)
	if err != nil {
		return "", err
	}
	if target := cage.Resolve(own); target != "" {
		return target, nil
	}
	return own, nil
}

// Of returns what agents at a site get. Caches that are missing are made.
func Of(at Site, wish Wish) Plan {
	home := homeOf(at.Environ)
	git, common := GitFolders(cage.Resolve(at.Dir))
	guarded := guardedFolders(home, at)
	p := Plan{Commons: common, Guarded: slices.Concat(at.Guarded, guarded)}
	for _, variable := range []string{"TMPDIR", "TMP", "TEMP"} {
		p.Env = append(p.Env, variable+"="+wish.Own)
	}
	may := slices.Concat([]string{cage.Resolve(at.Dir)}, git, wish.Extra, []string{wish.Own}, devices, made(at.CLIs.Write))
	if wish.OwnCaches {
		p.Env = append(p.Env, ownCaches(wish.Own)...)
	} else {
		shared, env := sharedCaches(at.Environ, at.kept(guarded), wish.Own)
		may, p.Env = append(may, shared...), append(p.Env, env...)
	}
	p.Files.Writable = outermost(may)
	keys := runners(at, home)
	p.Files.Hidden = slices.Concat(at.Hidden, at.CLIs.Hidden, credentials(at.Environ, at.CLIs.Read), keys)
	p.Files.Shown = ofRunners(at.Environ, keys)
	if at.Temp != "" {
		p.Files.Hidden = append(p.Files.Hidden, at.Temp)
		p.Files.Shown = slices.Concat(p.Files.Shown, shownByVariables(at), at.Shown, includedByGit(git, at))
	}
	return p
}

// kept is what no cache that may be written may contain.
func (at *Site) kept(guarded []string) []string {
	var out []string
	for _, path := range slices.Concat(guarded, at.Hidden, at.Guarded, []string{at.Temp, at.Workspace}) {
		if path = cage.Resolve(path); path != "" {
			out = append(out, path)
		}
	}
	return out
}

// Unguarded returns what agents can write although they must not, since a folder that
// they may write contains it.
func (p Plan) Unguarded() []string {
	var open []string
	for _, path := range p.Guarded {
		at := cage.Resolve(path)
		if at != "" && slices.ContainsFunc(p.Files.Writable, func(w string) bool { return cage.IsWithin(at, w) }) {
			open = append(open, path)
		}
	}
	slices.Sort(open)
	return slices.Compact(open)
}
