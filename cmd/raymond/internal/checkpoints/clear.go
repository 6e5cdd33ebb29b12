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
func Clear(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case isPassing(e.Name()):
			err = errors.Join(err, os.RemoveAll(path))
		case e.IsDir(): // of the run
			err = errors.Join(err, clearNotes(path))
		}
	}
	return err
}

func isPassing(name string) bool {
	return slices.ContainsFunc(halfWritten, func(suffix string) bool { return strings.HasSuffix(name, suffix) }) ||
		slices.ContainsFunc(passing, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// clearNotes removes notes that are half written.
func clearNotes(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json.tmp") {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
