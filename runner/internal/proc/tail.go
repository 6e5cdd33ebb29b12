package proc

import "unicode/utf8"

// Tail is an io.Writer that keeps the last Max bytes written. Its Write never
// fails. It is not safe for concurrent use.
type Tail struct {
	Max int // 0 keeps nothing

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

// Bytes returns what was kept. When something before it was dropped it begins at
// the start of a UTF-8 character, as far as the text is UTF-8. The bytes are
// valid until the next Write.
func (t *Tail) Bytes() []byte {
	if !t.cut {
		return t.buf
	}
	for i := range min(utf8.UTFMax, len(t.buf)) {
		if utf8.RuneStart(t.buf[i]) {
			return t.buf[i:]
		}
	}
	if len(t.buf) < utf8.UTFMax {
		return nil // the inside of one character
	}
	return t.buf // no UTF-8
}

// Truncated says whether anything was dropped.
func (t *Tail) Truncated() bool { return t.cut }
