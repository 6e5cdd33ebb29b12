package notes

import (
	"errors"
	"io"
	"os"
)

var errNotOurs = errors.New("is not the file that was put there")

// readRegular reads a regular file of at most most bytes. It follows no link, waits
// for no pipe, and never holds more than that in memory.
func readRegular(path string, most int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotOurs // a device is not even opened
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, errNotOurs
	}
	data := make([]byte, info.Size()+1) // it may grow
	n, err := io.ReadFull(f, data)
	if err == nil {
		return nil, errNotOurs
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return data[:n], err
}
