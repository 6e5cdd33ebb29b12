package protocol

import (
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
)

// memory is a read-only file system of one folder.
type memory map[string]memoryFile

// memoryFile is one file; it describes itself.
type memoryFile struct {
	name     string
	data     string
	mode     fs.FileMode
	modified time.Time
}

// Open implements fs.FS.
func (m memory) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return &memoryFolder{files: m}, nil
	}
	f, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memoryReader{Reader: strings.NewReader(f.data), file: f}, nil
}

// The methods of fs.FileInfo and fs.DirEntry.

func (f memoryFile) Name() string               { return f.name }
func (f memoryFile) Size() int64                { return int64(len(f.data)) }
func (f memoryFile) Mode() fs.FileMode          { return f.mode }
func (f memoryFile) ModTime() time.Time         { return f.modified }
func (f memoryFile) IsDir() bool                { return f.mode.IsDir() }
func (f memoryFile) Sys() any                   { return nil }
func (f memoryFile) Type() fs.FileMode          { return f.mode.Type() }
func (f memoryFile) Info() (fs.FileInfo, error) { return f, nil }

// memoryReader is an open file.
type memoryReader struct {
	*strings.Reader
	file memoryFile
}

// Stat implements fs.File.
func (r *memoryReader) Stat() (fs.FileInfo, error) { return r.file, nil }

// Close implements fs.File.
func (r *memoryReader) Close() error { return nil }

// memoryFolder is the open root.
type memoryFolder struct {
	files memory
	read  int // entries handed out by ReadDir
}

// Stat implements fs.File.
func (d *memoryFolder) Stat() (fs.FileInfo, error) {
	return memoryFile{name: ".", mode: fs.ModeDir | 0o555}, nil
}

// Read implements fs.File; a folder has nothing to read.
func (d *memoryFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

// Close implements fs.File.
func (d *memoryFolder) Close() error { return nil }

// ReadDir implements fs.ReadDirFile.
func (d *memoryFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	names := slices.Sorted(maps.Keys(d.files))[d.read:]
	if n > 0 && len(names) == 0 {
		return nil, io.EOF
	}
	if n > 0 {
		names = names[:min(n, len(names))]
	}
	d.read += len(names)
	list := make([]fs.DirEntry, len(names))
	for i, name := range names {
		list[i] = d.files[name]
	}
	return list, nil
}
