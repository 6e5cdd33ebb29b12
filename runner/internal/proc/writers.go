package proc

import (
	"bytes"
	"io"
)

// Lines is an io.Writer that splits its input into lines. It accepts lines of any length but uses
// bounded memory. Write never fails. Only one goroutine may use it.
type Lines struct {
	// Max is the maximum number of bytes of a line that Line receives.
	Max int
	// Line is called with each line, without its line feed. The bytes are valid only during the call. If a
	// line is longer than Max, Line gets only the first Max bytes, and truncated is true.
	Line func(line []byte, truncated bool)

	buf []byte
	cut bool // bytes of the current line were dropped
}

// maxReusedBuffer is the maximum size of a buffer that is reused for the next line. A larger buffer is
// released, because long lines are rare and every idle agent would keep that memory.
const maxReusedBuffer = 64 << 10

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.hold(p)
			return n, nil
		}
		l.deliver(p[:i])
		p = p[i+1:]
	}
}

// Flush passes on the last line if it doesn't end with a line feed.
func (l *Lines) Flush() {
	if len(l.buf) > 0 {
		l.deliver(nil)
	}
}

// deliver calls Line for the current line. rest is the part of the line that has not been buffered.
func (l *Lines) deliver(rest []byte) {
	line := rest
	if len(l.buf) > 0 {
		l.hold(rest)
		line = l.buf
	}
	cut := l.cut || len(line) > l.Max
	l.Line(line[:min(len(line), l.Max)], cut)
	l.buf, l.cut = l.buf[:0], false
	if cap(l.buf) > maxReusedBuffer {
		l.buf = nil
	}
}

// hold appends p to the current line. It drops everything beyond Max bytes.
func (l *Lines) hold(p []byte) {
	room := l.Max - len(l.buf)
	if len(p) > room {
		p, l.cut = p[:room], true
	}
	l.buf = append(l.buf, p...)
}

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

// CappedWriter is an io.Writer that passes the first Room bytes on to W, then writes a note that the
// output was truncated, and drops all further bytes. Write never fails.
type CappedWriter struct {
	W io.Writer
	// Room is the number of bytes that may still be written. Write reduces it.
	Room int
}

// Write implements io.Writer.
func (c *CappedWriter) Write(p []byte) (int, error) {
	if c.Room > 0 {
		n := min(len(p), c.Room)
		c.Room -= n
		_, _ = c.W.Write(p[:n])
		if c.Room == 0 {
			_, _ = io.WriteString(c.W, "\n[output truncated]\n")
		}
	}
	return len(p), nil
}
