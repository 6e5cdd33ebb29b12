package main

import (
	"errors"
	"io"
	"os"
)

var errNotOurs = errors.New("is not the file that was put there")

// readRegular reads a file of at most most bytes. Agents may have put anything in
// its place: it neither follows a link, nor waits for the other end of a pipe, nor
// holds more than that.
func readRegular(path string, most int64) ([]byte, os.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotOurs // nor is a device opened
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, nil, errNotOurs
	}
	data := make([]byte, info.Size()+1) // it may grow
	n, err := io.ReadFull(f, data)
	if err == nil {
		return nil, nil, errNotOurs
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return data[:n], info, err
}
