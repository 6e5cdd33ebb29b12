package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// Entry is a file to store in a checkpoint.
type Entry struct {
	Name string // name in the checkpoint, which CheckName must allow
	Path string // path of the file to read; it must be a regular file and not a link
	// Size is the number of bytes to store from the beginning of the file, or -1 for the whole file. With a
	// Size, an earlier state of a growing file can be stored.
	Size int64
	Data []byte // content of the file, if Path is empty
}

// open returns a reader of the bytes to store. It checks the size before anything is packed.
func (e *Entry) open() (io.ReadCloser, error) {
	limit := entryLimit(e.Name)
	if e.Path == "" && int64(len(e.Data)) > limit {
		return nil, tooLarge(limit)
	}
	if e.Path == "" {
		return io.NopCloser(bytes.NewReader(e.Data)), nil
	}
	f, info, err := files.Open(e.Path) // files.Open, because an agent may have replaced the file
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if e.Size >= 0 {
		size = e.Size
	}
	if size > limit {
		return nil, errors.Join(tooLarge(limit), f.Close())
	}
	if e.Size < 0 {
		return f, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(f, e.Size), f}, nil
}

// tooLarge returns the error for a file that exceeds its limit.
func tooLarge(limit int64) error {
	return fmt.Errorf("it has more than %d bytes: %w", limit, ErrTooLarge)
}
