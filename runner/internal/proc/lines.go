package proc

import "bytes"

// Lines is an io.Writer that splits its input into lines of any length, in bounded memory. Its Write
// never fails. Only one goroutine may use it.
type Lines struct {
	// Max is the number of bytes of a line that are delivered.
	Max int
	// Line receives each line, without its line feed. The bytes are valid only during the call. For a
	// longer line it gets the first Max bytes, and truncated is true.
	Line func(line []byte, truncated bool)

	buf []byte
	cut bool // bytes of the current line were dropped
}

// maxReusedBuffer is the size up to which the buffer is reused for the next line. A larger buffer was
// needed for a rare long line; keeping it would cost every idle agent that memory.
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

// Flush delivers a last line without a line feed.
func (l *Lines) Flush() {
	if len(l.buf) > 0 {
		l.deliver(nil)
	}
}

// deliver passes on the current line, which ends with rest.
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

// hold appends p to the current line, up to Max bytes.
func (l *Lines) hold(p []byte) {
	room := l.Max - len(l.buf)
	if len(p) > room {
		p, l.cut = p[:room], true
	}
	l.buf = append(l.buf, p...)
}
