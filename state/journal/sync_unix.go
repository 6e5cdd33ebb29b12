//go:build unix

package journal

import (
	"errors"
	"os"
	"syscall"
)

// syncDir syncs the directory, so that renames in it survive a crash of the machine.
func (realDisk) syncDir(dir string) error {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
