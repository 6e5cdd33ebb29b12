//go:build unix

package state

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes renames in dir survive a crash of the machine.
func syncDir(dir string) error {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
