package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

const (
	indexName   = "index.json"
	schema      = 1
	maxIndex    = 16 << 20
	maxNumber   = 1000 // maximum number of repositories in a save, and of worktrees in a repository
	maxBranches = 100_000
)

// Tree describes a git worktree.
type Tree struct {
	Dir  string `json:"dir"`  // its top directory, absolute
	Main bool   `json:"main"` // it is the main worktree, not a linked one
	// Branch is the short name of the branch that HEAD points to. It is empty if HEAD is detached. Head is
	// the commit. It is empty before the first commit.
	Branch string `json:"branch,omitempty"`
	Head   string `json:"head,omitempty"`
	// Operation is the git operation in progress: "merge", "rebase", "am", "cherry-pick", "revert" or
	// "bisect". It is empty if no operation is in progress.
	Operation string `json:"operation,omitempty"`
}

// Trees returns the top directories of the worktrees in a save, as paths on the machine that made it. from
// is the directory of the save. If it contains no index.json, Trees returns nil. If index.json is invalid,
// Trees returns an error.
func Trees(from string) (tops []string, err error) {
	x, err := readIndex(from)
	for _, r := range x.Repositories {
		for _, t := range r.Trees {
			tops = append(tops, t.Dir)
		}
	}
	return tops, err
}

// HasWork reports whether a save contains anything beyond the commit of its checkout, like
// SaveResult.HasWork. If index.json can't be read, it returns true.
func HasWork(from string) bool {
	x, err := readIndex(from)
	return err != nil || slices.ContainsFunc(x.Repositories, func(r repository) bool { return r.Held })
}

// Commits returns the newest commits in a save that were made on top of the checkout's commit. If
// index.json can't be read, it returns nil.
func Commits(from string) (ids []string) {
	x, _ := readIndex(from) // Restore reports the error
	for _, r := range x.Repositories {
		ids = append(ids, r.Commits...)
	}
	return ids
}

// index is the content of index.json.
type index struct {
	Schema       int          `json:"schema"`
	Repositories []repository `json:"repositories"`
}

// repository describes one repository of a save.
type repository struct {
	Main   bool   `json:"main"`   // the repository of the run's working directory
	Bundle string `json:"bundle"` // name of the bundle file
	Size   int64  `json:"size"`   // size of the bundle
	SHA256 string `json:"sha256"` // hash of the bundle
	Save   string `json:"save"`   // the commit that contains all work
	// Needs are the commits that a repository must have before the bundle can be unpacked.
	Needs []string `json:"needs,omitempty"`
	// Shallow are the commits whose parents the saved repository lacks. It is set only if the bundle
	// contains the whole repository.
	Shallow  []string `json:"shallow,omitempty"`
	Branches []branch `json:"branches,omitempty"`
	// Commits are the newest commits that were made on top of the checkout's commit.
	Commits []string `json:"commits,omitempty"`
	Extras  []branch `json:"extras,omitempty"` // with full ref names
	Trees   []Tree   `json:"trees"`
	Held    bool     `json:"held"`
	Notes   []string `json:"notes,omitempty"`
	// Seen is a hash of everything that the save of the repository depends on. It is empty if a later
	// change could leave the hash unchanged.
	Seen string `json:"seen,omitempty"`
}

// branch is a branch, tag or stash entry, and the id of its object. Only the names of branches are short: they
// don't begin with refs/heads/.
type branch struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// readIndex reads the index.json of a save. If the file doesn't exist, the result is empty.
func readIndex(dir string) (index, error) {
	if dir == "" {
		return index{}, nil
	}
	data, _, err := files.Read(filepath.Join(dir, indexName), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return index{}, nil
	}
	if err != nil {
		return index{}, err
	}
	x, err := decodeIndex(data)
	if err != nil {
		return index{}, fmt.Errorf("read %s: %w", indexName, err)
	}
	return x, nil
}

// decodeIndex decodes an index.json. It returns an error if Save can't have written it.
func decodeIndex(data []byte) (index, error) {
	var x index
	if err := jsonstrict.DecodeVersion(data, &x, schema); err != nil {
		return index{}, err
	}
	var c checker
	c.want(len(x.Repositories) <= maxNumber, "it has %d repositories, but at most %d are allowed", len(x.Repositories), maxNumber)
	for i := range x.Repositories {
		err := x.Repositories[i].validate()
		c.want(err == nil, "repositories[%d]: %w", i, err)
	}
	return x, c.err
}

// isID reports whether s is a full object id.
func isID(s string) bool { return fullName().MatchString(s) }

var fullName = text.Regexp(`^[0-9a-f]{40}$`)

// nullID is git's id for a missing object.
const nullID = "0000000000000000000000000000000000000000"

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
