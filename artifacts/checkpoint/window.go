package checkpoint

import "io"

// windowSize is how much a window reads at a time, a multiple of what age encrypts as one
// piece.
const windowSize = 512 << 10

// window is a reader of what is costly to read in small pieces. It keeps the last stretch
// that it has read, and is for one goroutine.
type window struct {
	r    io.ReaderAt
	size int64 // of what r has
	from int64 // where buf begins
	buf  []byte
}

// ReadAt implements io.ReaderAt.
func (w *window) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		if off >= w.size {
			return n, io.EOF
		}
		if off < w.from || off >= w.from+int64(len(w.buf)) {
			if err := w.move(off); err != nil {
				return n, err
			}
		}
		c := copy(p[n:], w.buf[off-w.from:])
		n, off = n+c, off+int64(c)
	}
	return n, nil
}

// move reads the stretch that has a byte.
func (w *window) move(off int64) error {
	w.from = off - off%windowSize
	if w.buf == nil {
		w.buf = make([]byte, windowSize)
	}
	w.buf = w.buf[:min(windowSize, w.size-w.from)]
	n, err := w.r.ReadAt(w.buf, w.from)
	if n == len(w.buf) {
		return nil
	}
	w.buf = w.buf[:0]
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return err
}
