package proc

import "bytes"

// Lines is an io.Writer that cuts what is written into lines of any length, in
// bounded memory. Its Write never fails. It is not safe for concurrent use.
type Lines struct {
	// Max is how many bytes of a line are kept.
	Max int
	// Line gets each line without its line feed. The bytes are valid only during
	// the call. Of a longer line it gets the first Max bytes, and truncated.
	Line func(line []byte, truncated bool)

	buf []byte
	cut bool // bytes of the current line were dropped
}

// keptBuffer is the size of buffer that is kept between lines: a larger one was
// for a rare line, and holding on to it would cost every idle agent memory.
const keptBuffer = 64 << 10

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

// Flush delivers the last line when no line feed ended it.
func (l *Lines) Flush() {
	if len(l.buf) > 0 {
		l.deliver(nil)
	}
}

// deliver passes on the current line, whose last bytes are rest.
func (l *Lines) deliver(rest []byte) {
	line := rest
	if len(l.buf) > 0 {
		l.hold(rest)
		line = l.buf
	}
	cut := l.cut || len(line) > l.Max
	l.Line(line[:min(len(line), l.Max)], cut)
	l.buf, l.cut = l.buf[:0], false
	if cap(l.buf) > keptBuffer {
		l.buf = nil
	}
}

// hold appends p to the current line as far as there is room.
func (l *Lines) hold(p []byte) {
	room := l.Max - len(l.buf)
	if len(p) > room {
		p, l.cut = p[:room], true
	}
	l.buf = append(l.buf, p...)
}
