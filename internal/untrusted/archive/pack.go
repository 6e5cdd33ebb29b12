package archive

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/flate"
)

// Packer writes a zip archive file by file, without modification times. It returns an error for a name that
// Unpack would reject. Unpack accepts the archive if its limits on numbers and sizes allow that.
type Packer struct {
	z       *zip.Writer
	names   names
	deflate *flate.Writer // used for all files; nil before the first one
}

// NewPacker returns a Packer that writes to w.
func NewPacker(w io.Writer) *Packer {
	p := &Packer{z: zip.NewWriter(w), names: names{}}
	p.z.RegisterCompressor(zip.Deflate, p.compressor)
	return p
}

// compressor returns a compressor that writes to w. All files use the same one.
func (p *Packer) compressor(w io.Writer) (_ io.WriteCloser, err error) {
	if p.deflate == nil {
		// An archive is written while agents run, so speed matters more than size.
		p.deflate, err = flate.NewWriter(w, flate.BestSpeed)
		return p.deflate, err
	}
	p.deflate.Reset(w)
	return p.deflate, nil
}

// Add adds a file with all bytes of r to the archive. After an error the archive is unusable.
func (p *Packer) Add(name string, r io.Reader) error { return p.add(name, r, zip.Deflate) }

// AddStored is like Add, but doesn't compress the bytes. Use it for data that is already compressed.
func (p *Packer) AddStored(name string, r io.Reader) error { return p.add(name, r, zip.Store) }

// add adds a file with a compression method.
func (p *Packer) add(name string, r io.Reader, method uint16) error {
	if strings.HasSuffix(name, "/") {
		return fmt.Errorf("pack %q: not the name of a file", name)
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

// Close writes the archive's directory. It doesn't close the underlying writer.
func (p *Packer) Close() error { return p.z.Close() }
