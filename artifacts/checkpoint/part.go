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
	Name string // as CheckName wants it
	Path string // of the file to read: a regular one, no link
	// Size is how many bytes of the file to store, its first ones, so that one that
	// grows can be stored as it was at a moment; -1 for all there are.
	Size int64
	Data []byte // what to store when Path is ""
}

// open returns the bytes to store. What is too large is told before hundreds of
// megabytes are packed in vain.
func (p *Entry) open() (io.ReadCloser, error) {
	limit := entryLimit(p.Name)
	if p.Path == "" && int64(len(p.Data)) > limit {
		return nil, tooLarge(limit)
	}
	if p.Path == "" {
		return io.NopCloser(bytes.NewReader(p.Data)), nil
	}
	f, info, err := files.Open(p.Path) // an agent may have put anything there
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if p.Size >= 0 {
		size = p.Size
	}
	if size > limit {
		return nil, errors.Join(tooLarge(limit), f.Close())
	}
	if p.Size < 0 {
		return f, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(f, p.Size), f}, nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("it has more than %d bytes: %w", limit, ErrTooLarge)
}
