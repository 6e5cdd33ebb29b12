package journal

import (
	"io/fs"
	"os"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// disk is the file system in which runs are read and saved. Tests replace it by a fake in which calls fail.
var disk fileSystem = realDisk{}

// fileSystem contains the file operations that are needed to read and save runs.
type fileSystem interface {
	read(path string) ([]byte, error)
	open(path string, flag int, mode fs.FileMode) (writableFile, error)
	rename(from, to string) error
	remove(path string) error
	syncDir(dir string) error
}

// writableFile is a file that is open for writing.
type writableFile interface {
	WriteAt(data []byte, at int64) (int, error)
	Sync() error
	Close() error
}

// realDisk is the file system of the machine. Only regular files can be read or opened.
type realDisk struct{}

func (realDisk) read(path string) ([]byte, error) { return files.ReadTarget(path, maxFile) }

func (realDisk) open(path string, flag int, mode fs.FileMode) (writableFile, error) {
	f, _, err := files.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (realDisk) rename(from, to string) error { return files.Rename(from, to) }
func (realDisk) remove(path string) error     { return os.Remove(path) }
