package transcripts

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ReplaceID returns a reader for the text of in, in which the id from is replaced with the id to. If
// the ids have different lengths, or if from is empty, the text is not changed. The reader buffers
// 64 KiB.
func ReplaceID(in io.Reader, from, to string) io.Reader {
	if from == "" || from == to || len(from) != len(to) {
		return in
	}
	return &idReplacer{in: bufio.NewReaderSize(in, 64<<10), from: []byte(from), to: []byte(to)}
}

// idReplacer is the reader that ReplaceID returns.
type idReplacer struct {
	in       *bufio.Reader
	from, to []byte
}

// Read implements io.Reader.
func (r *idReplacer) Read(p []byte) (int, error) {
	window, err := r.in.Peek(r.in.Size())
	if len(window) == 0 {
		return 0, err
	}
	n := len(window)
	if err == nil {
		n -= len(r.from) - 1 // an id may continue after the window
	} else if !errors.Is(err, io.EOF) {
		return 0, err
	}
	if i := bytes.Index(window, r.from); i == 0 {
		if len(p) < len(r.to) {
			return 0, io.ErrShortBuffer
		}
		_, err = r.in.Discard(len(r.from))
		return copy(p, r.to), err
	} else if i > 0 {
		n = min(n, i)
	}
	n = copy(p, window[:n])
	_, err = r.in.Discard(n)
	return n, err
}
