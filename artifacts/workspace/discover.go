package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// place is where a directory lies in git.
type place struct {
	top     string // of the worktree, as the caller writes it
	gitDir  string // of the worktree
	common  string // what all worktrees of the repository share
	format  string // of object ids
	shallow bool
	super   string // the top that this one is a submodule of, "" for none
}

func (p *place) linked() bool { return p.gitDir != p.common }

// isSubmodule is not so of a linked worktree within another one, even when somebody
// added that to the index.
func (p *place) isSubmodule() bool { return p != nil && p.super != "" && !p.linked() }

// place asks git where a directory lies; nil when it lies in no worktree.
func (t *tool) place(ctx context.Context, dir string) (*place, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, nil // an agent may have removed it
	}
	out, err := t.output(ctx, call{dir: dir}, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir",
		"--show-object-format", "--is-shallow-repository", "--show-toplevel", "--show-prefix", "--show-superproject-working-tree")
	if noWorktree(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for git in %q: %w", dir, err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) == 6 {
		lines = append(lines, "")
	}
	if len(lines) != 7 {
		return nil, fmt.Errorf("look for git in %q: its path has a line break", dir)
	}
	p := &place{gitDir: filepath.FromSlash(lines[0]), common: filepath.FromSlash(lines[1]), format: lines[2],
		shallow: lines[3] == "true", top: filepath.FromSlash(lines[4]), super: filepath.FromSlash(lines[6])}
	return p, p.spell(dir, filepath.FromSlash(lines[5]))
}

func noWorktree(err error) bool {
	var f *failure
	return errors.As(err, &f) &&
		(strings.Contains(f.stderr, "not a git repository") || strings.Contains(f.stderr, "must be run in a work tree"))
}

// spell takes the top from the directory that was asked for where it can: git
// resolves links, and the machine that restores knows the paths as they are written.
func (p *place) spell(dir, prefix string) error {
	written, ok := strings.CutSuffix(filepath.Clean(dir)+string(filepath.Separator), prefix)
	written = filepath.Clean(written)
	if ok && sameDir(written, p.top) {
		p.top = written
	}
	inside, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	// core.worktree can name any folder.
	if rel, err := filepath.Rel(p.top, inside); (err != nil || !filepath.IsLocal(rel)) && p.top != written {
		return fmt.Errorf("look for git in %q: its worktree is %q", dir, p.top)
	}
	return nil
}

func sameDir(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}

// source is a repository to save.
type source struct {
	place // of its main worktree
	main  bool
	base  string // the commit of the checkout, "" when it is unknown here
	trees []*worktree
	notes []string
}

// worktree is a tree to save.
type worktree struct {
	tree
	gitDir string
	status []entry
	raw    []byte // what git said of the status
}

func (s *source) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// discover returns the repositories that the directories lie in, that of the first
// directory before the others, and in each the main worktree and every one that holds
// a directory.
func (t *tool) discover(ctx context.Context, dirs []string) ([]*source, []string, error) {
	var sources []*source
	var notes []string
	seen := map[string]bool{}
	for i, dir := range dirs {
		p, err := t.place(ctx, dir)
		for err == nil && p.isSubmodule() {
			notes = append(notes, fmt.Sprintf("%s: the work in the submodule is not saved", p.top))
			p, err = t.place(ctx, p.super)
		}
		if err != nil {
			return nil, nil, err
		}
		if p == nil || seen[p.gitDir] {
			continue
		}
		seen[p.gitDir] = true
		s := sourceOf(sources, p.common)
		if s == nil {
			s, err = t.source(ctx, p)
			if err != nil {
				return nil, nil, err
			}
			if s == nil {
				notes = append(notes, fmt.Sprintf("%s: it belongs to a repository without a worktree of its own, and is not saved", p.top))
				continue
			}
			s.main = i == 0
			seen[s.gitDir] = true
			sources = append(sources, s)
		}
		if p.linked() {
			s.trees = append(s.trees, &worktree{tree: tree{Dir: p.top}, gitDir: p.gitDir})
		}
	}
	return sources, notes, nil
}

func sourceOf(sources []*source, common string) *source {
	for _, s := range sources {
		if s.common == common {
			return s
		}
	}
	return nil
}

// source finds the main worktree of the repository that a place is in; nil when it
// has none.
func (t *tool) source(ctx context.Context, p *place) (*source, error) {
	main := p
	if p.linked() {
		list, err := t.worktrees(ctx, p.top)
		if err != nil {
			return nil, err
		}
		if main, err = t.place(ctx, list[0].dir); err != nil {
			return nil, err
		}
		if main == nil || main.common != p.common || main.linked() {
			return nil, nil
		}
	}
	s := &source{place: *main, trees: []*worktree{{tree: tree{Dir: main.top, Main: true}, gitDir: main.gitDir}}}
	if _, err := os.Stat(filepath.Join(main.common, "modules")); err == nil {
		s.note("%s: the work in its submodules is not saved", main.top)
	}
	return s, nil
}

// listed is a worktree as git lists it.
type listed struct {
	dir, head, branch string // branch: the full name of the ref
}

// worktrees lists the worktrees of the repository around dir, the main one first.
func (t *tool) worktrees(ctx context.Context, dir string) ([]listed, error) {
	out, err := t.output(ctx, call{dir: dir}, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	list := parseWorktrees(out)
	if len(list) == 0 {
		return nil, fmt.Errorf("git worktree: %q is in no worktree", dir)
	}
	return list, nil
}

func parseWorktrees(out []byte) []listed {
	var list []listed
	for attribute := range bytes.SplitSeq(out, []byte{0}) {
		name, value, _ := strings.Cut(string(attribute), " ")
		if name == "worktree" {
			list = append(list, listed{dir: filepath.FromSlash(value)})
		}
		if len(list) == 0 {
			continue
		}
		switch last := &list[len(list)-1]; name {
		case "HEAD":
			last.head = value
		case "branch":
			last.branch = value
		}
	}
	return list
}
