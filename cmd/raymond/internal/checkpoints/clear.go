package checkpoints

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passing are the beginnings of the names of what a step makes in its folder in passing:
// checkpoints that are made or were downloaded, the work in them, and what our own git
// needs.
var passing = []string{"checkpoint-", "workspace-", "work-", "claim-", "raymond-git-", "raymond-restore-", "raymond-past-"}

// halfWritten are the ends of the names of state files, journals and notes that are not
// whole yet.
var halfWritten = []string{".json.tmp", ".journal.tmp", ".note.tmp"}

// Clear removes from the folder of a step what a process that was killed left half made.
// The work and the conversations of the run lie there in clear. Nobody may be at work
// there any more.
func Clear(dir string) error { return clearFolder(dir, passing) }

// clearFolder removes what is half written, and what has a name that begins in one of some ways.
func clearFolder(dir string, prefixes []string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.ContainsFunc(halfWritten, func(suffix string) bool { return strings.HasSuffix(path, suffix) }),
			slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) }):
			err = errors.Join(err, os.RemoveAll(path))
		case e.IsDir() && prefixes != nil: // of the run
			err = errors.Join(err, clearFolder(path, nil))
		}
	}
	return err
}
