// Package gitguard takes back what agents write to the settings and hooks of git before
// a script of the workflow starts: git would run it with the script's rights and secrets.
package gitguard

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Guard knows what git's settings and hooks were before agents could write there. Its
// methods may be called by any goroutine.
type Guard struct {
	tell func(changed []string)
	// In is where things are taken back, such as a cage: agents that run meanwhile may
	// put links in the place of what was just looked at. nil is here.
	In func(func() error) error

	mu       sync.Mutex // guards what follows, and the files
	dirs     []string   // where git is looked for
	ours     []string   // folders, without links, in which things may be taken back
	base     baseline
	strays   int  // how many invocations run that are not trusted
	begun    int  // how many have begun so far
	isSoiled bool // one has run since the files were looked at
	told     map[string]bool
	late     map[string]bool // directories that were named when agents had run
}

// New takes what directories have now. tell is told what was taken back: keys of settings
// and paths of files, each once.
func New(dirs []string, tell func(changed []string)) (*Guard, error) {
	g := &Guard{tell: tell, base: newBaseline(), told: map[string]bool{}, late: map[string]bool{}, dirs: slices.Clone(dirs)}
	return g, g.take()
}

// take makes what is there what counts.
func (g *Guard) take() error {
	for _, dir := range g.dirs {
		r, err := repositoryAt(dir)
		if err != nil {
			return err
		}
		if err := g.base.take(r); err != nil {
			return err
		}
		g.ours = append(g.ours, r.folders...)
		if target, err := filepath.EvalSymlinks(dir); err == nil {
			g.ours = append(g.ours, target)
		}
	}
	slices.Sort(g.ours)
	g.ours = slices.Compact(g.ours)
	return nil
}

// outside returns a folder of a repository in which nothing may be changed, since it
// was not known before agents ran: they can have named any folder; "" for none.
func (g *Guard) outside(r *repository) string {
	for _, path := range r.places() {
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue // there is nothing
		}
		if !slices.ContainsFunc(g.ours, func(o string) bool { return target == o || strings.HasPrefix(target, o+string(filepath.Separator)) }) {
			return target
		}
	}
	return ""
}

// Untrusted returns a backend whose invocations may write anything.
func (g *Guard) Untrusted(b runner.Backend) runner.Backend { return &untrusted{b, g} }

type untrusted struct {
	runner.Backend
	guard *Guard
}

// Run implements runner.Backend.
func (u *untrusted) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	defer u.guard.soil()()
	return u.Backend.Run(ctx, o, tell)
}

// Checks returns a verifier whose commands run what agents wrote.
func (g *Guard) Checks(v runner.Verifier) runner.Verifier { return &checks{v, g} }

type checks struct {
	runner.Verifier
	guard *Guard
}

// Verify implements runner.Verifier.
func (c *checks) Verify(ctx context.Context, o runner.Checks, tell func(runner.Progress)) state.Verification {
	defer c.guard.soil()()
	return c.Verifier.Verify(ctx, o, tell)
}

// soil notes that something runs that isn't trusted, and returns what notes its end.
func (g *Guard) soil() (end func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isSoiled {
		_ = g.take() // what scripts have left; where that can't be read, what was known before counts
	}
	g.strays++
	g.begun++
	g.isSoiled = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.strays--
	}
}

// Scripts returns a backend of scripts, which are trusted unless they run in a cage: they
// find git's settings and hooks as trusted ones have left them, and may change them.
func (g *Guard) Scripts(b runner.Backend) runner.Backend { return &scripts{b, g} }

type scripts struct {
	runner.Backend
	guard *Guard
}

// Run implements runner.Backend.
func (s *scripts) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	if o.Script.Cage != nil {
		defer s.guard.soil()()
		return s.Backend.Run(ctx, o, tell)
	}
	begun, err := s.guard.clean(o.Dir)
	if err != nil {
		return runner.Answer{ExitCode: -1}, &runner.Failure{Class: runner.Machine, Message: "take back what agents wrote to git's settings: " + err.Error()}
	}
	a, err := s.Backend.Run(ctx, o, tell)
	s.guard.adopt(begun)
	return a, err
}

// clean takes back what agents wrote, and returns how many have begun by then.
func (g *Guard) clean(dir string) (begun int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.dirs, dir) {
		g.dirs = append(g.dirs, dir)
		g.isSoiled = g.isSoiled || g.begun > 0 // what is there is not known
		g.late[dir] = g.begun > 0
	}
	if !g.isSoiled {
		return g.begun, nil
	}
	for _, dir := range g.dirs {
		r, err := repositoryAt(dir)
		if err != nil {
			return g.begun, err
		}
		other := g.outside(r)
		if other != "" && g.late[dir] {
			continue // a repository that is none of the run's
		}
		if other != "" {
			return g.begun, fmt.Errorf("git's folder of %q is %q now, which the run did not have before agents ran", dir, other)
		}
		changed, err := g.restore(r)
		g.say(changed)
		if err != nil {
			return g.begun, err
		}
	}
	return g.begun, nil
}

func (g *Guard) restore(r *repository) (changed []string, err error) {
	restore := func() (err error) {
		changed, err = g.base.restore(r)
		return err
	}
	if g.In != nil {
		err = g.In(restore)
	} else {
		err = restore()
	}
	return changed, err
}

// say tells what was not told before.
func (g *Guard) say(changed []string) {
	changed = slices.DeleteFunc(changed, func(name string) bool { return g.told[name] })
	for _, name := range changed {
		g.told[name] = true
	}
	if len(changed) > 0 {
		g.tell(changed)
	}
}

// adopt makes what a script has left what counts from now on, unless an agent may have
// written meanwhile.
func (g *Guard) adopt(begun int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.strays == 0 && g.begun == begun {
		g.isSoiled = false
	}
}
