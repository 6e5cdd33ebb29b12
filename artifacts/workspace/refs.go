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

// refs are the HEADs, branches, tags and remote refs of a repository at one moment.
type refs struct {
	raw      string // all refs and HEADs as text, for comparison
	branches []branch
	remote   []string // commits that the refs of origin point to
	others   int      // number of branches whose names can't be saved
	tags     []branch // with full ref names
	stash    bool
}

// refs reads the refs of a repository and the HEADs of some of its worktrees.
func (t *tool) refs(ctx context.Context, p *location, trees ...*worktree) (*refs, error) {
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
		// Commits of other remotes may be missing at origin, so they don't count. actions/checkout stores
		// pull requests at refs/remotes/pull/N/merge.
		case strings.HasPrefix(ref, "refs/remotes/origin/"), strings.HasPrefix(ref, "refs/remotes/pull/"):
			at.remote = append(at.remote, id)
		}
	}
	slices.Sort(at.remote)
	at.remote = slices.Compact(at.remote)
	return at, nil
}

// refUpdate is a change of the ref called name. It sets the ref to the commit in the field to. If that field is
// empty, it deletes the ref. The field from contains the commit that the ref must have before the change. If
// from is empty, the ref may have any commit. If from is the null id, the ref must not exist.
type refUpdate struct{ name, from, to string }

// updateRefs makes all updates or none. If why is not empty, the message in the reflog contains it.
func (t *tool) updateRefs(ctx context.Context, c call, why string, moves []refUpdate) error {
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

// operation returns the git operation in progress in a worktree, or "". An interrupted rebase leaves the
// file CHERRY_PICK_HEAD too, so rebases are checked before cherry-picks.
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
