package files

import (
	"io/fs"
	"os"
)

// FS returns the files below root as an fs.FS. It follows links that stay below root. It opens only regular
// files and directories, and never blocks on a pipe.
func FS(root *os.Root) fs.FS { return guarded{root} }

type guarded struct{ root *os.Root }

func (g guarded) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	before, err := g.Stat(name)
	if err == nil && !before.Mode().IsRegular() && !before.IsDir() {
		err = notRegular(name)
	}
	if err != nil {
		return nil, err
	}
	f, err := g.root.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = notRegular(name)
	}
	if err != nil {
		_ = f.Close() // an error of Close doesn't matter, because nothing was read
		return nil, err
	}
	return f, nil
}

func (g guarded) Stat(name string) (fs.FileInfo, error) { return g.root.Stat(name) }
