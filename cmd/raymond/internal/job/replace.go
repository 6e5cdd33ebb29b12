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
