package archive

import (
	"archive/zip"
	"bufio"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Unpack writes the files of a zip archive under dir, which must be empty. The
// whole directory of the archive is checked as Open does before the first byte
// is written, and no file becomes larger than the directory says. After an error, which is a
// *Malformed if the archive is to blame, dir is to be removed.
func Unpack(r io.ReaderAt, size int64, dir string, lim Limits) error {
	z, err := Open(r, size, lim)
	if err != nil {
		return err
	}
	z.RegisterDecompressor(zip.Deflate, inflate)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		also := io.Discard
		if lim.Also != nil {
			also = lim.Also(f.Name)
		}
		if err := unpackFile(root, f, also); err != nil {
			return err
		}
	}
	return nil
}

// unpackFile writes one file. The zip library counts what is unpacked, and stops
// after as many bytes as the directory says, which are within the limits.
func unpackFile(root *os.Root, f *zip.File, also io.Writer) error {
	if parent := path.Dir(f.Name); parent != "." {
		if err := root.MkdirAll(parent, 0o700); err != nil {
			return err
		}
	}
	in, err := f.Open()
	if err != nil {
		return blame(f.Name, err)
	}
	defer in.Close()
	out, err := root.OpenFile(f.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(out, also), in)
	return errors.Join(blame(f.Name, err), out.Close())
}

// readAhead is how many packed bytes are read at a time.
const readAhead = 32 << 10

// inflate unpacks what the standard library would, with less work.
func inflate(r io.Reader) io.ReadCloser {
	i, ok := inflaters.Get().(*inflater)
	if !ok {
		i = &inflater{in: bufio.NewReaderSize(nil, readAhead)}
		i.ReadCloser = flate.NewReader(i.in)
	}
	i.in.Reset(r)
	// Only a dictionary could be wrong, and there is none.
	_ = i.ReadCloser.(flate.Resetter).Reset(i.in, nil)
	return i
}

// inflaters are those that are not in use, for archives of many files.
var inflaters sync.Pool

type inflater struct {
	io.ReadCloser

	in *bufio.Reader
}

// Close ends the use of an inflater; nothing may be read from it after that.
func (i *inflater) Close() error {
	err := i.ReadCloser.Close()
	i.in.Reset(nil)
	inflaters.Put(i)
	return err
}
