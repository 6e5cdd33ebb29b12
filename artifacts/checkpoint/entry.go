package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// Entry is one file to store.
type Entry struct {
	Name string // allowed by CheckName
	Path string // file to read, which must be regular and not a link
	// Size is how many of the file's first bytes to store, so that a growing file can be stored in an
	// earlier state; -1 for the whole file.
	Size int64
	Data []byte // content if Path is ""
}

// open returns the bytes to store. It checks the size first, so that no large file is packed in vain.
func (e *Entry) open() (io.ReadCloser, error) {
	limit := entryLimit(e.Name)
	if e.Path == "" && int64(len(e.Data)) > limit {
		return nil, tooLarge(limit)
	}
	if e.Path == "" {
		return io.NopCloser(bytes.NewReader(e.Data)), nil
	}
	f, info, err := files.Open(e.Path) // an agent may have replaced the file
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

func tooLarge(limit int64) error {
	return fmt.Errorf("it has more than %d bytes: %w", limit, ErrTooLarge)
}
