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
// Unpack refuses are errors.
type Packer struct {
	z       *zip.Writer
	names   names
	deflate *flate.Writer // of one file after the other; nil before the first
}

// NewPacker returns a Packer that writes to w, in one go and without seeking.
func NewPacker(w io.Writer) *Packer {
	p := &Packer{z: zip.NewWriter(w), names: names{}}
	p.z.RegisterCompressor(zip.Deflate, p.compressor)
	return p
}

func (p *Packer) compressor(w io.Writer) (_ io.WriteCloser, err error) {
	if p.deflate == nil {
		// A save runs beside the agents, so speed counts for more than size.
		p.deflate, err = flate.NewWriter(w, flate.BestSpeed)
		return p.deflate, err
	}
	p.deflate.Reset(w)
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
