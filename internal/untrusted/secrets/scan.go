package secrets

import (
	"bytes"
	"cmp"
	"io"
	"strings"
)

// scan masks a text that arrives in chunks. It decides each position as soon as the available bytes
// show whether a secret, in any of its encodings, begins there. So the result doesn't depend on the
// chunks.
type scan struct {
	set    *Set
	buf    []byte // bytes not yet decided
	masked int    // number of bytes of buf that belong to a secret already found
}

// sink receives the results of a scan in order.
type sink interface {
	clean(b []byte)
	// masked reports n bytes of a secret. first means that the secret begins with them.
	masked(n int, first bool)
}

// advance decides as many bytes of buf as possible, or all of them if final is set.
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

// pass sends positions at which no secret begins to the sink.
func (c *scan) pass(from, to int, out sink) {
	if covered := min(to, c.masked) - from; covered > 0 {
		out.masked(covered, false)
		from += covered
	}
	if from < to {
		out.clean(c.buf[from:to])
	}
}

// starSink is a sink that replaces each secret by three asterisks.
type starSink struct{ out io.Writer }

func (s starSink) clean(b []byte) { _, _ = s.out.Write(b) }

func (s starSink) masked(_ int, first bool) {
	if first {
		_, _ = io.WriteString(s.out, hidden)
	}
}

// fillSink is a sink that replaces each byte of a secret by an asterisk.
type fillSink struct{ out *bytes.Buffer }

func (f fillSink) clean(b []byte) { f.out.Write(b) }

func (f fillSink) masked(n int, _ bool) { f.out.WriteString(strings.Repeat("*", n)) }

// maskingReader is a reader that masks the bytes it reads.
type maskingReader struct {
	scan  scan
	from  io.Reader
	chunk []byte
	out   bytes.Buffer
	err   error // error of from
}

// MaskReader returns a reader of r that replaces each byte of a secret by an asterisk. It returns all
// bytes of r before an error of r.
func (s *Set) MaskReader(r io.Reader) io.Reader {
	return &maskingReader{scan: scan{set: cmp.Or(s, &Set{})}, from: r, chunk: make([]byte, 32<<10)}
}

func (f *maskingReader) Read(p []byte) (int, error) {
	for f.out.Len() == 0 && f.err == nil && len(p) > 0 {
		n, err := f.from.Read(f.chunk)
		f.scan.buf = append(f.scan.buf, f.chunk[:n]...)
		f.err = err
		f.scan.advance(err != nil, fillSink{&f.out})
	}
	if f.out.Len() == 0 {
		return 0, f.err
	}
	return f.out.Read(p)
}
