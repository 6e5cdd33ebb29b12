package secrets

import (
	"bytes"
	"cmp"
	"io"
	"strings"
)

// scan masks a text that arrives in chunks. For each index it waits until the bytes show whether a secret, in
// any of its encodings, begins there. So the result doesn't depend on how the text is divided into chunks.
type scan struct {
	set    *Set
	buf    []byte // bytes for which it is not known yet whether a secret begins there
	masked int    // number of bytes of buf that belong to a secret that was found already
}

// sink receives the results of a scan, in the order of the text.
type sink interface {
	// clean receives bytes that belong to no secret.
	clean(b []byte)
	// masked receives the number of bytes that belong to a secret. first means that a secret begins there.
	masked(n int, first bool)
}

// advance sends as many bytes of buf as possible to the sink, or all of them if final is set.
func (c *scan) advance(final bool, to sink) {
	next, line := 0, 0
	for {
		at, n := c.set.find(c.buf, next, final, &line)
		if covered := min(at, c.masked) - next; covered > 0 {
			to.masked(covered, false)
			next += covered
		}
		if next < at {
			to.clean(c.buf[next:at])
		}
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
	err   error // error that the reader from returned
}

// MaskReader returns a reader of r that replaces each byte of a secret by an asterisk. If r returns an error,
// the reader first returns all bytes that it has read from r.
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
