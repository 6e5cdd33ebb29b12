package proc

// Tail is an io.Writer that stores the last Max bytes written to it. Write never fails. Only one
// goroutine may use it.
type Tail struct {
	Max int // maximum number of stored bytes; if 0, nothing is stored

	buf []byte
	cut bool
}

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	if over := len(p) - t.Max; over > 0 {
		p, t.cut, t.buf = p[over:], true, t.buf[:0]
	}
	if over := len(t.buf) + len(p) - t.Max; over > 0 {
		t.cut = true
		t.buf = t.buf[:copy(t.buf, t.buf[over:])]
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// Bytes returns the stored bytes, which may begin in the middle of a character. They are valid until the
// next Write.
func (t *Tail) Bytes() []byte { return t.buf }

// Truncated reports whether earlier bytes were dropped.
func (t *Tail) Truncated() bool { return t.cut }
