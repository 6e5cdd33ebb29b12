package job

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// newMode is the mode of a command file that was not there.
const newMode fs.FileMode = 0o644

// put makes data the content of the file. A new file is moved to its place, so
// that nothing is written through a link that somebody has put there.
func (c *commandFile) put(data []byte) error {
	info, err := c.replace(data)
	// A folder that can't be written, or a file that Windows holds on to.
	if err != nil && c.now.info != nil {
		var inPlace error
		if info, inPlace = c.overwrite(data); inPlace != nil {
			return errors.Join(err, inPlace)
		}
		err = nil
	}
	if err != nil {
		return err
	}
	c.now = content{info, data}
	return nil
}

// replace writes a new file beside the old one and renames it.
func (c *commandFile) replace(data []byte) (info fs.FileInfo, err error) {
	mode := newMode
	if c.now.info != nil {
		mode = c.now.info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(c.path), ".raymond-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode))
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return nil, err
	}
	return info, files.Rename(f.Name(), c.path)
}

// overwrite writes into the file that was there, and into no other.
func (c *commandFile) overwrite(data []byte) (fs.FileInfo, error) {
	f, info, err := files.OpenFile(c.path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, c.now.info) {
		return nil, errors.Join(errors.New("another file is in its place"), f.Close())
	}
	_, err = f.Write(data)
	return info, errors.Join(err, f.Truncate(int64(len(data))), f.Close())
}
