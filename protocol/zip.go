package protocol

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Limits of a zip archive. Sizes are counted while inflating; what the headers
// say is not believed.
const (
	maxEntries   = 1000
	maxEntry     = 1 << 20
	maxTotal     = 64 << 20
	maxDirectory = 4 << 20 // bytes read to list the entries
)

// OpenZip returns the files of a zip archive as a read-only file system in
// memory, without the one folder that they may all be in. The Problems say why
// an archive is refused, naming the entry; then there is no file system. An
// archive is never inflated beyond 64 MiB.
func OpenZip(r io.ReaderAt, size int64) (fs.FS, []Problem) {
	files, problem := listZip(r, size)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	for _, f := range files {
		if why := faultOfEntry(f); why != "" {
			return nil, []Problem{zipProblem(f.Name, why)}
		}
	}
	folder, problem := layout(files)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	return inflate(files, folder)
}

func zipProblem(entry, why string) Problem {
	return Problem{Code: "zip", Message: fmt.Sprintf("entry %s of the archive %s", quote(entry), why)}
}

// listZip returns the entries that matter, without reading their contents.
func listZip(r io.ReaderAt, size int64) ([]*zip.File, *Problem) {
	limited := &limitedReaderAt{r: r, left: maxDirectory}
	archive, err := zip.NewReader(limited, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, &Problem{Code: "zip", Message: fmt.Sprintf("read the archive: %v", err)}
	}
	limited.left = -1
	var files []*zip.File
	for _, f := range archive.File {
		if !isIgnored(f) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, &Problem{Code: "zip", Message: "the archive is empty"}
	}
	if len(files) > maxEntries {
		p := zipProblem(files[maxEntries].Name, fmt.Sprintf("is one too many: at most %d are read", maxEntries))
		return nil, &p
	}
	return files, nil
}

// limitedReaderAt refuses to read more than left bytes, so that a huge list of
// entries is not taken into memory. A negative left means no limit.
type limitedReaderAt struct {
	r    io.ReaderAt
	left int64
}

// ReadAt implements io.ReaderAt.
func (l *limitedReaderAt) ReadAt(p []byte, at int64) (int, error) {
	if l.left < 0 {
		return l.r.ReadAt(p, at)
	}
	if l.left < int64(len(p)) {
		return 0, fmt.Errorf("its list of entries is over %d MiB", maxDirectory>>20)
	}
	l.left -= int64(len(p))
	return l.r.ReadAt(p, at)
}

// isIgnored reports whether an entry is none of the author's: a folder, or what
// a Mac adds.
func isIgnored(f *zip.File) bool {
	return f.Mode().IsDir() || strings.HasPrefix(f.Name, "__MACOSX/") || path.Base(f.Name) == ".DS_Store"
}

// faultOfEntry says what is wrong with the header of an entry, or "".
func faultOfEntry(f *zip.File) string {
	const encrypted = 1 | 1<<6 | 1<<13 // traditional, strong, masked headers
	if why := faultOfPath(f.Name); why != "" {
		return why
	}
	switch {
	case !f.Mode().IsRegular():
		return fmt.Sprintf("is not a regular file but %v", f.Mode().Type())
	case f.Flags&encrypted != 0:
		return "is encrypted"
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Sprintf("is compressed by the unknown method %d", f.Method)
	}
	return ""
}

func faultOfPath(name string) string {
	switch {
	case strings.ContainsRune(name, 0):
		return "has a NUL in its name"
	case strings.Contains(name, `\`):
		return "has a backslash in its name"
	case strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':':
		return "has an absolute name"
	case !fs.ValidPath(name):
		return "has a name that is no path inside the archive"
	}
	return ""
}

// layout returns the one top-level folder that all files are in, with its
// slash, or "" when all are at the top.
func layout(files []*zip.File) (string, *Problem) {
	folder, _ := path.Split(files[0].Name)
	seen := map[string]bool{}
	for _, f := range files {
		dir, _ := path.Split(f.Name)
		why := ""
		switch {
		case strings.Count(dir, "/") > 1:
			why = "is nested too deep: files lie at the top or in one folder"
		case dir != folder:
			why = fmt.Sprintf("does not lie beside %s: files lie all at the top or all in one folder", quote(files[0].Name))
		case seen[f.Name]:
			why = "stands there twice"
		}
		if why != "" {
			p := zipProblem(f.Name, why)
			return "", &p
		}
		seen[f.Name] = true
	}
	return folder, nil
}

// inflate reads the contents of all files.
func inflate(files []*zip.File, folder string) (fs.FS, []Problem) {
	m := memory{}
	total := 0
	for _, f := range files {
		data, why := inflateEntry(f)
		if total += len(data); why == "" && total > maxTotal {
			why = fmt.Sprintf("brings the archive over %d MiB", maxTotal>>20)
		}
		if why != "" {
			return nil, []Problem{zipProblem(f.Name, why)}
		}
		name := strings.TrimPrefix(f.Name, folder)
		mode := f.Mode().Perm()&^0o222 | 0o444
		m[name] = memoryFile{name: name, data: string(data), mode: mode, modified: f.Modified}
	}
	return m, nil
}

// inflateEntry returns the contents of an entry, or what is wrong with it.
func inflateEntry(f *zip.File) ([]byte, string) {
	rc, err := f.Open()
	if err != nil {
		return nil, fmt.Sprintf("can't be read: %v", err)
	}
	defer rc.Close()
	data, err := io.ReadAll(io.LimitReader(rc, maxEntry+1))
	switch {
	case err != nil:
		return nil, fmt.Sprintf("can't be read: %v", err)
	case len(data) > maxEntry:
		return data, fmt.Sprintf("is over %d MiB", maxEntry>>20)
	}
	return data, ""
}
