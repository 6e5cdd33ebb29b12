package workspace

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// operations are the git operations that can be in progress in a worktree.
var operations = []string{"", "rebase", "am", "merge", "cherry-pick", "revert", "bisect"}

var bundleForm = text.Regexp(`^repo-[0-9]{1,4}\.bundle$`)

// checker collects the first error of several checks.
type checker struct{ err error }

// want records an error if ok is false.
func (c *checker) want(ok bool, what string, args ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf(what, args...)
	}
}

// validate checks one repository of an index.
func (r *repository) validate() error {
	var c checker
	c.want(bundleForm().MatchString(r.Bundle), "%q is not a name of a bundle", r.Bundle)
	c.want(max(len(r.Extras), len(r.Branches), len(r.Needs), len(r.Shallow), len(r.Commits)) <= maxBranches, "it has more than %d branches or commits", maxBranches)
	c.want(len(r.Trees) > 0 && len(r.Trees) <= maxNumber, "it has %d trees, but must have 1 to %d", len(r.Trees), maxNumber)
	for _, id := range slices.Concat([]string{r.Save}, r.Needs, r.Shallow, r.Commits) {
		c.want(isID(id), "%q is not an object id", id)
	}
	for i, x := range r.Extras {
		c.want(isExtra(x.Name) && isID(x.ID), "extras[%d]: %q at %q is neither a tag nor a stash entry", i, x.Name, x.ID)
	}
	branches := map[string]string{}
	for i, b := range r.Branches {
		c.want(isBranch(b.Name), "branches[%d]: %q is not a name of a branch", i, b.Name)
		c.want(isID(b.ID), "branches[%d]: %q is not an object id", i, b.ID)
		c.want(branches[b.Name] == "", "branches[%d]: %q is listed twice", i, b.Name)
		branches[b.Name] = b.ID
	}
	for i, t := range r.Trees {
		err := t.validate(branches)
		c.want(err == nil, "trees[%d]: %w", i, err)
		c.want(t.Main == (i == 0), "trees[%d]: only the first tree must be the main worktree", i)
	}
	return c.err
}

// validate checks one worktree of an index. branches maps the saved branches to their commits.
func (t *Tree) validate(branches map[string]string) error {
	var c checker
	c.want(isPlainDir(t.Dir), "%q is not an absolute directory", t.Dir)
	c.want(t.Branch != "" || t.Head != "", "it has neither a branch nor a commit")
	c.want(t.Branch == "" || isBranch(t.Branch), "%q is not a name of a branch", t.Branch)
	c.want(t.Head == "" || isID(t.Head), "%q is not an object id", t.Head)
	c.want(t.Branch == "" || branches[t.Branch] == t.Head, "branch %q is at %q, but HEAD is at %q", t.Branch, branches[t.Branch], t.Head)
	c.want(slices.Contains(operations, t.Operation), "operation %q is unknown", t.Operation)
	return c.err
}

// isPlainDir reports whether a path is absolute, on Unix or on Windows, and contains no "." or ".."
// elements.
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

// noBranch matches invalid branch names: reserved names, names with invalid characters, and names with
// path elements that are empty or that begin or end with invalid text.
var noBranch = text.Regexp(`^(?:@|HEAD)?$|^-|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|\.$|(?:^|/)(?:[./]|$)|\.lock(?:/|$)`)

// isBranch reports whether name is a valid branch name. In addition to git's rules, it must be valid UTF-8
// and have at most 1000 bytes.
func isBranch(name string) bool {
	return len(name) <= 1000 && utf8.ValidString(name) && !noBranch().MatchString(name)
}
