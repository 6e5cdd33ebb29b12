package workspace

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// The extras of a save are the tags that agents created, and the entries of the stash, oldest first. The
// name of an extra is the full name of its ref.
const (
	tagRefs  = "refs/tags/"
	stashRef = "refs/stash"
	// extraRefs is the prefix of the refs for extras in the repository that creates a bundle.
	extraRefs = "refs/raymond/extra/"
)

// isExtra reports whether a ref is a tag or the stash.
func isExtra(ref string) bool {
	name, isTag := strings.CutPrefix(ref, tagRefs)
	return ref == stashRef || isTag && isBranch(name)
}

// tagsFile returns the file in which Base records the tags of a checkout. It returns "" if no directory
// for these files is set.
func (t *tool) tagsFile(p *location) string {
	if t.opts.TagsDir == "" {
		return ""
	}
	return filepath.Join(t.opts.TagsDir, fmt.Sprintf("%x", sha256.Sum256([]byte(p.common))))
}

// extras returns the tags that a repository did not have before agents started, and the entries of its
// stash.
func (t *tool) extras(ctx context.Context, p *location, at *refs) (all []branch, err error) {
	found := map[string]bool{}
	if file := t.tagsFile(p); file != "" {
		data, _, _ := files.Read(file, maxList) // without the file, all tags count as new
		for line := range strings.Lines(string(data)) {
			found[line] = true
		}
	}
	for _, tag := range at.tags {
		if !found[tag.ID+" "+tag.Name+"\n"] {
			all = append(all, tag)
		}
	}
	ids, err := t.stashed(ctx, p, at)
	for _, id := range slices.Backward(ids) {
		all = append(all, branch{stashRef, id})
	}
	return all, err
}

// stashed returns the commits of the stash's entries, newest first.
func (t *tool) stashed(ctx context.Context, p *location, at *refs) ([]string, error) {
	if !at.stash {
		return nil, nil
	}
	out, err := t.output(ctx, call{dir: p.top}, "rev-list", "--walk-reflogs", "--max-count="+strconv.Itoa(maxNumber), stashRef)
	return strings.Fields(string(out)), err
}

// restoreExtras creates the tags and stash entries that a repository lacks. If a tag has another value
// here, it stays unchanged, and a note is added.
func (w *restorer) restoreExtras(ctx context.Context, p *plan) error {
	c := call{dir: p.dir, settings: []setting{{"core.logAllRefUpdates", "always"}}} // git stash reads the reflog
	have, err := w.git.stashed(ctx, &location{top: p.dir}, p.at)
	for _, x := range p.saved.Extras {
		i := slices.IndexFunc(p.at.tags, func(tag branch) bool { return tag.Name == x.Name })
		switch {
		case err != nil:
			return err
		case i >= 0 && p.at.tags[i].ID != x.ID:
			w.note("%s: tag %q is at %s here and was at %s in the saved work; it stays as it is", p.dir, strings.TrimPrefix(x.Name, tagRefs), p.at.tags[i].ID, x.ID)
		case x.Name != stashRef && i < 0:
			err = w.git.run(ctx, call{dir: p.dir}, "update-ref", x.Name, x.ID, nullID)
		case x.Name == stashRef && !slices.Contains(have, x.ID):
			var about []byte
			if about, err = w.git.output(ctx, c, "log", "-1", "--format=%s", x.ID); err == nil { // the text that git stash list shows
				err = w.git.run(ctx, c, "update-ref", "-m", strings.TrimSpace(string(about)), stashRef, x.ID)
			}
		}
	}
	return err
}
