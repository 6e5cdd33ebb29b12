package secrets

import (
	"bytes"
	"cmp"
	"io"
	"strings"
)

// scan goes once over a text that comes in pieces. Each position is decided as
// soon as the bytes that are there tell whether a form begins at it, so that the
// outcome does not depend on the pieces.
type scan struct {
	set    *Set
	buf    []byte // what is undecided
	masked int    // so many bytes of buf belong to a secret that has begun
}

// sink takes what a scan has decided, in order.
type sink interface {
	clean(b []byte)
	// masked is told n bytes of a secret, and whether they are the first of it.
	masked(n int, first bool)
}

// advance decides as much of buf as can be: all of it when it is final.
func (c *scan) advance(final bool, to sink) {
	next, line := 0, 0
	for {
		at, n := c.set.find(c.buf, next, final, &line)
		c.pass(next, at, to)
		next = at
		if n == 0 {
			break
		}
		to.masked(1, at >= c.masked)
		c.masked = max(c.masked, at+n)
		next++
	}
	c.masked = max(c.masked-next, 0)
	c.buf = append(c.buf[:0], c.buf[next:]...)
}

// pass hands on positions at which no form begins.
func (c *scan) pass(from, to int, out sink) {
	if covered := min(to, c.masked) - from; covered > 0 {
		out.masked(covered, false)
		from += covered
	}
	if from < to {
		out.clean(c.buf[from:to])
	}
}

// starred is a sink that puts three asterisks in place of a secret.
type starred struct{ out io.Writer }

func (s starred) clean(b []byte) { _, _ = s.out.Write(b) }

func (s starred) masked(_ int, first bool) {
	if first {
		_, _ = io.WriteString(s.out, hidden)
	}
}

// filled is a sink that puts an asterisk in place of each byte of a secret.
type filled struct{ out *bytes.Buffer }

func (f filled) clean(b []byte) { f.out.Write(b) }

func (f filled) masked(n int, _ bool) { f.out.WriteString(strings.Repeat("*", n)) }

// filler reads through a scan.
type filler struct {
	scan  scan
	from  io.Reader
	chunk []byte
	out   bytes.Buffer
	err   error // of from
}

// MaskReader returns a reader of what r has, with an asterisk in place of each byte of
// a secret. An error of r comes after all bytes that came before it.
func (s *Set) MaskReader(r io.Reader) io.Reader {
	return &filler{scan: scan{set: cmp.Or(s, &Set{})}, from: r, chunk: make([]byte, 32<<10)}
}

func (f *filler) Read(p []byte) (int, error) {
	for f.out.Len() == 0 && f.err == nil && len(p) > 0 {
		n, err := f.from.Read(f.chunk)
		f.scan.buf = append(f.scan.buf, f.chunk[:n]...)
		f.err = err
		f.scan.advance(err != nil, filled{&f.out})
	}
	if f.out.Len() == 0 {
		return 0, f.err
	}
	return f.out.Read(p)
}
