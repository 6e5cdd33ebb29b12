package archive

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path"
	"strings"
)

// Unpack writes the files of a zip archive to dir, which must be empty. Before it writes anything, it
// checks the archive's directory like Open. No file becomes larger than that directory says. The error is a
// *Malformed if the archive is damaged or breaks a rule. After an error the caller must remove dir.
func Unpack(r io.ReaderAt, size int64, dir string, lim Limits) error {
	z, err := Open(r, size, lim)
	if err != nil {
		return err
	}
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
		if lim.Tee != nil {
			also = lim.Tee(f.Name)
		}
		if err := unpackFile(root, f, also); err != nil {
			return err
		}
	}
	return nil
}

// unpackFile writes one file. The zip library stops at the number of bytes that the archive's directory
// declares, and that number is within the limits.
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
