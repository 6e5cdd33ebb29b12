package protocol

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// Limits of a zip archive: numbers of entries, and sizes in bytes. maxListed counts all entries.
// maxEntries does not count folders and the files that macOS adds.
const (
	maxListed  = 3000
	maxEntries = 1000
	maxEntry   = 1 << 20
	maxTotal   = 64 << 20
)

// OpenZip returns the files in a zip archive as a read-only file system that reads from r. If all
// files are in one folder, that folder is the root of the file system. If the archive is rejected,
// the Problems name the entry and the reason, and the file system is nil. OpenZip never inflates
// more than 64 MiB.
func OpenZip(r io.ReaderAt, size int64) (fs.FS, []Problem) {
	fsys, err := filesOf(r, size)
	if err != nil {
		return nil, []Problem{{Code: "zip", Message: err.Error()}}
	}
	return fsys, nil
}

// filesOf implements OpenZip.
func filesOf(r io.ReaderAt, size int64) (fs.FS, error) {
	z, err := archive.Open(r, size, archive.Limits{Entries: maxListed, Entry: maxEntry, Total: maxTotal})
	if err != nil {
		return nil, err
	}
	// Folders and files that macOS adds are not files of the workflow.
	z.File = slices.DeleteFunc(slices.Clone(z.File), func(f *zip.File) bool {
		return f.Mode().IsDir() || strings.HasPrefix(f.Name, "__MACOSX/") || path.Base(f.Name) == ".DS_Store"
	})
	if len(z.File) == 0 {
		return nil, errors.New("the archive is empty")
	}
	// folder is the top-level folder that contains all files, with a slash at its end, or "" if all files are
	// at the top.
	folder, _ := path.Split(z.File[0].Name)
	for i, f := range z.File {
		dir, _ := path.Split(f.Name)
		why := ""
		switch {
		case i == maxEntries:
			why = fmt.Sprintf("exceeds the limit of %d files", maxEntries)
		case strings.Count(dir, "/") > 1:
			why = "is nested too deeply: files must be at the top or in one folder"
		case dir != folder:
			why = fmt.Sprintf("is not in the same folder as %s: all files must be at the top or in one folder", Quote(z.File[0].Name))
		}
		if why != "" {
			return nil, fmt.Errorf("entry %s of the archive %s", Quote(f.Name), why)
		}
	}
	// Read each file once now, so that no later read finds a file that is broken or larger than it claims.
	for _, f := range z.File {
		if _, err := archive.Read(f, maxEntry); err != nil {
			return nil, err
		}
		f.SetMode(f.Mode().Perm()&^0o222 | 0o444)
	}
	return fs.Sub(z, path.Clean(folder))
}
