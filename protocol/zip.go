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

// Limits of a zip archive. Folders, and what a Mac adds, count only among the entries
// that are listed.
const (
	maxListed  = 3000
	maxEntries = 1000
	maxEntry   = 1 << 20
	maxTotal   = 64 << 20
)

// OpenZip returns the files of a zip archive as a read-only file system, which reads
// from r, without the one folder that they may all be in. The Problems say why
// an archive is refused, naming the entry; then there is no file system. An
// archive is never inflated beyond 64 MiB.
func OpenZip(r io.ReaderAt, size int64) (fs.FS, []Problem) {
	fsys, err := filesOf(r, size)
	if err != nil {
		return nil, []Problem{{Code: "zip", Message: err.Error()}}
	}
	return fsys, nil
}

func filesOf(r io.ReaderAt, size int64) (fs.FS, error) {
	z, err := archive.Open(r, size, archive.Limits{Entries: maxListed, Entry: maxEntry, Total: maxTotal})
	if err != nil {
		return nil, err
	}
	// Folders, and what a Mac adds, are none of the author's files.
	z.File = slices.DeleteFunc(slices.Clone(z.File), func(f *zip.File) bool {
		return f.Mode().IsDir() || strings.HasPrefix(f.Name, "__MACOSX/") || path.Base(f.Name) == ".DS_Store"
	})
	folder, err := layout(z.File)
	if err != nil {
		return nil, err
	}
	for _, f := range z.File { // once, so that none of them is larger than it says or broken
		if _, err := archive.Read(f, maxEntry); err != nil {
			return nil, err
		}
		f.SetMode(f.Mode().Perm()&^0o222 | 0o444)
	}
	return fs.Sub(z, path.Clean(folder))
}

// layout returns the one top-level folder that all files are in, with its
// slash, or "" when all are at the top.
func layout(files []*zip.File) (string, error) {
	if len(files) == 0 {
		return "", errors.New("the archive is empty")
	}
	folder, _ := path.Split(files[0].Name)
	for i, f := range files {
		dir, _ := path.Split(f.Name)
		why := ""
		switch {
		case i == maxEntries:
			why = fmt.Sprintf("is one too many: at most %d are read", maxEntries)
		case strings.Count(dir, "/") > 1:
			why = "is nested too deep: files lie at the top or in one folder"
		case dir != folder:
			why = fmt.Sprintf("does not lie beside %s: files lie all at the top or all in one folder", Quote(files[0].Name))
		}
		if why != "" {
			return "", fmt.Errorf("entry %s of the archive %s", Quote(f.Name), why)
		}
	}
	return folder, nil
}
