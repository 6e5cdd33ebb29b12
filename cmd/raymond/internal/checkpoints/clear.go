package checkpoints

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passing lists the prefixes of temporary files and directories in a step's directory: checkpoints
// that are being written or were downloaded, the work in them, and files of this program's git
// commands.
var passing = []string{"checkpoint-", "workspace-", "work-", "claim-", "raymond-git-", "raymond-restore-", "raymond-past-"}

// halfWritten lists the suffixes of state files, journals and notes that are not complete yet.
var halfWritten = []string{".json.tmp", ".journal.tmp", ".note.tmp"}

// Clear removes the incomplete files that a killed process has left in the directory of a step.
// They contain work and conversations of the run in clear text. No other process may use the
// directory at the same time.
func Clear(dir string) error { return clearFolder(dir, passing) }

// clearFolder removes incomplete files, and files whose names have a given prefix.
func clearFolder(dir string, prefixes []string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.ContainsFunc(halfWritten, func(suffix string) bool { return strings.HasSuffix(path, suffix) }),
			slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) }):
			err = errors.Join(err, os.RemoveAll(path))
		case e.IsDir() && prefixes != nil: // the run's directory
			err = errors.Join(err, clearFolder(path, nil))
		}
	}
	return err
}
