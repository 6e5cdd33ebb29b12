package workspace

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// refs are the HEADs and branches of a repository at a moment.
type refs struct {
	raw       string // all of it, to be compared
	worktrees []listed
	branches  []branch
	remote    []string // commits that the remote has
	others    int      // branches whose names can't be saved
	stash     bool
}

// refs reads the HEADs and branches of a repository.
func (t *tool) refs(ctx context.Context, s *source) (*refs, error) {
	worktrees, list, err := t.worktrees(ctx, s.top)
	if err != nil {
		return nil, err
	}
	branches, err := t.output(ctx, call{dir: s.top}, "for-each-ref", "--format=%(objectname) %(refname)",
		"refs/heads", "refs/remotes", "refs/stash")
	if err != nil {
		return nil, err
	}
	at := &refs{raw: string(list) + "\x00" + string(branches), worktrees: worktrees}
	for line := range strings.SplitSeq(string(branches), "\n") {
		id, ref, _ := strings.Cut(line, " ")
		at.add(id, ref)
	}
	slices.Sort(at.remote)
	at.remote = slices.Compact(at.remote)
	return at, nil
}

func (at *refs) add(id, ref string) {
	if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		if isBranch(name) {
			at.branches = append(at.branches, branch{name, id})
		} else {
			at.others++
		}
	}
	// Checkouts of pull requests are at refs/remotes/pull/N/merge. Origin does not have
	// the commits of other remotes.
	if strings.HasPrefix(ref, "refs/remotes/origin/") || strings.HasPrefix(ref, "refs/remotes/pull/") {
		at.remote = append(at.remote, id)
	}
	at.stash = at.stash || ref == "refs/stash"
}

// scan finds what each worktree of a repository differs in from its commit.
func (w *saver) scan(ctx context.Context, s *source, at *refs) error {
	for _, wt := range s.trees {
		wt.Branch, wt.Head = at.head(wt.Dir)
		if wt.Operation = operation(wt.gitDir); wt.Operation != "" {
			s.note("%s: git %s is in progress; its commits and files are saved, but not git's record of it", wt.Dir, wt.Operation)
		}
		var err error
		if wt.status, wt.raw, err = w.git.status(ctx, wt.Dir); err != nil {
			return err
		}
	}
	if at.stash {
		s.note("%s: its stash is not saved", s.top)
	}
	if at.others > 0 {
		s.note("%s: branches with odd names are not saved (%d)", s.top, at.others)
	}
	return nil
}

// head returns the branch and the commit of a worktree.
func (at *refs) head(dir string) (branch, head string) {
	for _, l := range at.worktrees {
		if !sameDir(l.dir, dir) {
			continue
		}
		if strings.Trim(l.head, "0") != "" {
			head = l.head
		}
		name, ok := strings.CutPrefix(l.branch, "refs/heads/")
		if ok && isBranch(name) {
			return name, head
		}
		return "", head
	}
	return "", ""
}

// operation returns what is in progress in a worktree. A rebase that stops leaves the
// marks of a cherry-pick too, so rebases are looked for first.
func operation(gitDir string) string {
	for _, o := range []struct{ file, name string }{
		{"rebase-merge", "rebase"}, {"rebase-apply/applying", "am"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(gitDir, filepath.FromSlash(o.file))); err == nil {
			return o.name
		}
	}
	return ""
}
