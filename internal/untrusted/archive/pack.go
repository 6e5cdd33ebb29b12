package archive

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/flate"
)

// Packer writes a zip archive file by file, without times. What it writes is
// within every rule of Unpack but the limits on numbers and sizes: names that
// Unpack refuses are errors, and no file is packed to less than a hundredth of
// its size, so that a log of one line repeated doesn't look like a bomb.
type Packer struct {
	z       *zip.Writer
	names   names
	deflate *thrifty // of one file after the other; nil before the first
}

// NewPacker returns a Packer that writes to w, in one go and without seeking.
func NewPacker(w io.Writer) *Packer {
	p := &Packer{z: zip.NewWriter(w), names: names{}}
	p.z.RegisterCompressor(zip.Deflate, p.compressor)
	return p
}

func (p *Packer) compressor(w io.Writer) (_ io.WriteCloser, err error) {
	if p.deflate == nil {
		p.deflate, err = newThrifty()
	}
	if err != nil {
		return nil, err
	}
	p.deflate.begin(w)
	return p.deflate, nil
}

// Add packs all that r holds under a name. After an error the archive is of no
// use.
func (p *Packer) Add(name string, r io.Reader) error { return p.add(name, r, zip.Deflate) }

// AddStored is Add for what is compressed already.
func (p *Packer) AddStored(name string, r io.Reader) error { return p.add(name, r, zip.Store) }

func (p *Packer) add(name string, r io.Reader, method uint16) error {
	if strings.HasSuffix(name, "/") {
		return fmt.Errorf("pack %q: it is no file's name", name)
	}
	err := CheckEntryName(name)
	if err == nil {
		err = p.names.add(name)
	}
	if err != nil {
		return fmt.Errorf("pack %q: %w", name, err)
	}
	out, err := p.z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	return err
}

// Close writes the archive's directory. It doesn't close the writer below.
func (p *Packer) Close() error { return p.z.Close() }

const (
	// stretch is how many bytes are packed before it is seen how well that went.
	stretch = 256 << 10
	// thrift is the ratio above which the next stretch is stored as it is.
	thrift = 100
)

// thrifty is a deflate stream that never gets much smaller than the thrift-th
// part of its input: stretches that follow too good a ratio are stored.
type thrifty struct {
	out           counter
	packed, plain *flate.Writer
	now           *flate.Writer // the one of the two that is written to
	room          int           // bytes left of the present stretch
	in            int64
}

func newThrifty() (*thrifty, error) {
	// A save runs beside the agents, so speed counts for more than size.
	packed, err := flate.NewWriter(io.Discard, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	plain, err := flate.NewWriter(io.Discard, flate.NoCompression)
	return &thrifty{packed: packed, plain: plain}, err
}

// begin makes it ready for another file.
func (t *thrifty) begin(w io.Writer) {
	t.out, t.in, t.room = counter{w: w}, 0, stretch
	t.now = t.packed
	t.now.Reset(&t.out)
}

func (t *thrifty) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := t.now.Write(p[done:min(len(p), done+t.room)])
		done += n
		t.in += int64(n)
		t.room -= n
		if err == nil && t.room == 0 {
			err = t.turn()
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// turn ends a stretch. A flush ends at a whole byte, so that another deflate
// writer can go on from there, if it knows nothing of what came before.
func (t *thrifty) turn() error {
	if err := t.now.Flush(); err != nil {
		return err
	}
	t.room = stretch
	next := t.packed
	if t.out.n*thrift < t.in {
		next = t.plain
	}
	if next != t.now {
		t.now = next
		t.now.Reset(&t.out)
	}
	return nil
}

func (t *thrifty) Close() error { return t.now.Close() }

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
