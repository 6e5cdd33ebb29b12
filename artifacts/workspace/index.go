package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

const (
	indexName   = "index.json"
	schema      = 1
	maxIndex    = 16 << 20
	maxNumber   = 1000 // repositories of a save, and trees of one
	maxBranches = 100_000
)

// Tree is a git worktree.
type Tree struct {
	Dir  string `json:"dir"`  // its top, absolute
	Main bool   `json:"main"` // not a linked worktree
	// Branch is the short name of the branch that HEAD points to, "" when it points to
	// a commit; Head is the commit, "" when there is none yet.
	Branch string `json:"branch,omitempty"`
	Head   string `json:"head,omitempty"`
	// Operation is what was in progress: "merge", "rebase", "am", "cherry-pick",
	// "revert", "bisect", or "".
	Operation string `json:"operation,omitempty"`
}

// Trees returns the tops of the worktrees of a save, on the machine that made it.
// A folder without an index holds none. Whatever the index has that no
// save writes is an error.
func Trees(from string) (tops []string, err error) {
	x, err := readIndex(from)
	for _, r := range x.Repositories {
		for _, t := range r.Trees {
			tops = append(tops, t.Dir)
		}
	}
	return tops, err
}

// HasWork reports whether a save has anything beyond the commit of its checkout, as Saved.Held says.
func HasWork(from string) bool {
	x, err := readIndex(from)
	return err != nil || slices.ContainsFunc(x.Repositories, func(r repository) bool { return r.Held })
}

// Commits returns the newest commits of a save that were made on top of the checkout's.
func Commits(from string) (ids []string) {
	x, _ := readIndex(from) // the restore reports why an index can't be read
	for _, r := range x.Repositories {
		ids = append(ids, r.Commits...)
	}
	return ids
}

// index is index.json.
type index struct {
	Schema       int          `json:"schema"`
	Repositories []repository `json:"repositories"`
}

// repository is what a save says of one repository.
type repository struct {
	Main   bool   `json:"main"`   // it is that of the run's working directory
	Bundle string `json:"bundle"` // name of the file
	Size   int64  `json:"size"`   // of the file
	SHA256 string `json:"sha256"` // of the file
	Save   string `json:"save"`   // the commit that holds everything
	// Needs are the commits that the bundle builds on.
	Needs []string `json:"needs,omitempty"`
	// Shallow are the commits whose parents the repository lacks, where all that it has is in the bundle.
	Shallow  []string `json:"shallow,omitempty"`
	Branches []branch `json:"branches,omitempty"`
	// Commits are the newest commits that were made on top of the checkout's commit.
	Commits []string `json:"commits,omitempty"`
	Extras  []branch `json:"extras,omitempty"` // with the full names of their refs
	Trees   []Tree   `json:"trees"`
	Held    bool     `json:"held"`
	Notes   []string `json:"notes,omitempty"`
	// Seen is a hash of all that the save was made from, "" if that may have changed
	// without a trace.
	Seen string `json:"seen,omitempty"`
}

type branch struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

func writeIndex(dir string, x index) error {
	data, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("write %s: %w", indexName, err)
	}
	return files.WriteNew(filepath.Join(dir, indexName), data, 0o600)
}

// readIndex reads the index of a save; of a folder without one it is empty.
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

func decodeIndex(data []byte) (index, error) {
	var x index
	if err := jsonstrict.DecodeVersion(data, &x, schema); err != nil {
		return index{}, err
	}
	return x, x.validate()
}

// isID reports whether s is the full name of an object.
func isID(s string) bool { return fullName().MatchString(s) }

var fullName = text.Regexp(`^[0-9a-f]{40}$`)

// nullID is the object id that stands for nothing.
const nullID = "0000000000000000000000000000000000000000"
