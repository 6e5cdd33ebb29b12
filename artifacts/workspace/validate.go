package workspace

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// operations are what can be in progress in a worktree.
var operations = []string{"", "rebase", "am", "merge", "cherry-pick", "revert", "bisect"}

var bundleForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^repo-[0-9]{1,4}\.bundle$`) })

// validate refuses whatever no save of ours writes.
func (x *index) validate() error {
	if len(x.Repositories) > maxNumber {
		return fmt.Errorf("it has %d repositories, want %d at most", len(x.Repositories), maxNumber)
	}
	dirs, bundles := map[string]bool{}, map[string]bool{}
	for i := range x.Repositories {
		r := &x.Repositories[i]
		err := r.validate()
		switch {
		case err != nil:
			return fmt.Errorf("repositories[%d]: %w", i, err)
		case r.Main && i > 0:
			return fmt.Errorf("repositories[%d]: it is the main one, and not the first", i)
		case bundles[r.Bundle]:
			return fmt.Errorf("repositories[%d]: bundle %q is named twice", i, r.Bundle)
		}
		bundles[r.Bundle] = true
		for _, t := range r.Trees {
			if dirs[t.Dir] {
				return fmt.Errorf("repositories[%d]: directory %q is named twice", i, t.Dir)
			}
			dirs[t.Dir] = true
		}
	}
	return nil
}

func (r *repository) validate() error {
	switch {
	case r.Format != "sha1" && r.Format != "sha256":
		return fmt.Errorf("object format %q is unknown", r.Format)
	case !bundleForm().MatchString(r.Bundle):
		return fmt.Errorf("%q is no name of a bundle", r.Bundle)
	case r.Size <= 0:
		return fmt.Errorf("size %d of the bundle is not positive", r.Size)
	case len(r.SHA256) != 64 || !isHex(r.SHA256):
		return fmt.Errorf("%q is no SHA-256", r.SHA256)
	case r.Seen != "" && (len(r.Seen) != 64 || !isHex(r.Seen)):
		return fmt.Errorf("%q is no SHA-256", r.Seen)
	}
	return r.validateContent()
}

// validateContent is validate for what the bundle is said to hold.
func (r *repository) validateContent() error {
	switch {
	case len(r.Branches) > maxBranches || len(r.Needs) > maxBranches || len(r.Shallow) > maxBranches:
		return fmt.Errorf("it has more than %d branches or commits", maxBranches)
	case len(r.Trees) == 0 || len(r.Trees) > maxNumber:
		return fmt.Errorf("it has %d trees, want 1 to %d", len(r.Trees), maxNumber)
	}
	for _, id := range slices.Concat([]string{r.Save}, r.Needs, r.Shallow) {
		if !isID(id, r.Format) {
			return fmt.Errorf("%q is no object id", id)
		}
	}
	branches, err := r.branchIDs()
	if err != nil {
		return err
	}
	for i, t := range r.Trees {
		if err := t.validate(r.Format, branches); err != nil {
			return fmt.Errorf("trees[%d]: %w", i, err)
		}
		if t.Main != (i == 0) {
			return fmt.Errorf("trees[%d]: only the first is the main one", i)
		}
	}
	return nil
}

// branchIDs returns the commits that the branches point to.
func (r *repository) branchIDs() (map[string]string, error) {
	ids := map[string]string{}
	for i, b := range r.Branches {
		switch {
		case !isBranch(b.Name):
			return nil, fmt.Errorf("branches[%d]: %q is no name of a branch", i, b.Name)
		case !isID(b.ID, r.Format):
			return nil, fmt.Errorf("branches[%d]: %q is no object id", i, b.ID)
		case ids[b.Name] != "":
			return nil, fmt.Errorf("branches[%d]: %q is named twice", i, b.Name)
		}
		ids[b.Name] = b.ID
	}
	return ids, nil
}

func (t *Tree) validate(format string, branches map[string]string) error {
	switch {
	case !isPlainDir(t.Dir):
		return fmt.Errorf("%q is no absolute directory", t.Dir)
	case t.Branch == "" && t.Head == "":
		return fmt.Errorf("it has neither a branch nor a commit")
	case t.Branch != "" && !isBranch(t.Branch):
		return fmt.Errorf("%q is no name of a branch", t.Branch)
	case t.Head != "" && !isID(t.Head, format):
		return fmt.Errorf("%q is no object id", t.Head)
	case t.Branch != "" && branches[t.Branch] != t.Head:
		return fmt.Errorf("branch %q stands at %q, and HEAD at %q", t.Branch, branches[t.Branch], t.Head)
	case !slices.Contains(operations, t.Operation):
		return fmt.Errorf("operation %q is unknown", t.Operation)
	}
	return nil
}

// isPlainDir reports whether a directory is absolute, on Unix or on Windows, and
// written without "." and "..".
func isPlainDir(dir string) bool {
	if strings.ContainsRune(dir, 0) || !utf8.ValidString(dir) {
		return false
	}
	slashed := dir
	if drive := len(dir) >= 3 && dir[1] == ':' && (dir[2] == '\\' || dir[2] == '/'); drive {
		slashed = strings.ReplaceAll(dir[2:], `\`, "/")
	} else if strings.HasPrefix(dir, `\\`) {
		slashed = strings.ReplaceAll(dir[1:], `\`, "/")
	}
	return strings.HasPrefix(slashed, "/") && path.Clean(slashed) == slashed
}

// isBranch reports whether git takes name as that of a branch. It is stricter only in
// that the name must be UTF-8.
func isBranch(name string) bool {
	if name == "" || name == "@" || name == "HEAD" || name[0] == '-' || len(name) > 1000 || !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsFunc(name, unfitForRef) && !strings.Contains(name, "..") && !strings.Contains(name, "@{") &&
		!strings.HasSuffix(name, ".") && areParts(name)
}

// unfitForRef reports whether no name of a branch has this character.
func unfitForRef(c rune) bool { return c < ' ' || c == 0x7f || strings.ContainsRune(" ~^:?*[\\", c) }

// areParts reports whether each part of a name, between slashes, may be one.
func areParts(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
