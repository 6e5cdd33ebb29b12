package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// refs are the HEADs and branches of a repository at a moment.
type refs struct {
	raw      string // all of it, to be compared
	branches []branch
	remote   []string // commits that the remote has
	others   int      // branches whose names can't be saved
	tags     []branch // with the full names of refs
	stash    bool
}

// refs reads the branches of a repository, and what the HEADs of some of its worktrees say.
func (t *tool) refs(ctx context.Context, p *place, trees ...*worktree) (*refs, error) {
	out, err := t.output(ctx, call{dir: p.top}, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes", "refs/tags", stashRef)
	if err != nil {
		return nil, err
	}
	at := &refs{raw: string(out)}
	for _, wt := range trees {
		head, _, err := files.Read(resolved(filepath.Join(wt.gitDir, "HEAD")), maxRef)
		if err != nil {
			return nil, err
		}
		at.raw += "\x00" + string(head)
	}
	for line := range strings.Lines(string(out)) {
		id, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch name, isBranchRef := strings.CutPrefix(ref, "refs/heads/"); {
		case isBranchRef && isBranch(name):
			at.branches = append(at.branches, branch{name, id})
		case isBranchRef:
			at.others++
		case isExtra(ref) && ref != stashRef:
			at.tags = append(at.tags, branch{ref, id})
		case ref == stashRef:
			at.stash = true
		// Checkouts of pull requests are at refs/remotes/pull/N/merge. Origin does not have
		// the commits of other remotes.
		case strings.HasPrefix(ref, "refs/remotes/origin/"), strings.HasPrefix(ref, "refs/remotes/pull/"):
			at.remote = append(at.remote, id)
		}
	}
	slices.Sort(at.remote)
	at.remote = slices.Compact(at.remote)
	return at, nil
}

// move is a ref that gets another commit, or none for "". From is the one that it has: any for "", and none
// for the null id.
type move struct{ name, from, to string }

// moveRefs makes all moves or none. Why is for the log of the refs, "" for nothing.
func (t *tool) moveRefs(ctx context.Context, c call, why string, moves []move) error {
	if len(moves) == 0 {
		return nil
	}
	var in strings.Builder
	for _, m := range moves {
		if m.to == "" {
			fmt.Fprintf(&in, "delete %s\x00%s\x00", m.name, m.from)
		} else {
			fmt.Fprintf(&in, "update %s\x00%s\x00%s\x00", m.name, m.to, m.from)
		}
	}
	args := []string{"update-ref", "-z", "--stdin"}
	if why != "" {
		args = append(args, "-m", "raymond: "+why)
	}
	c.in = strings.NewReader(in.String())
	return t.run(ctx, c, args...)
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
