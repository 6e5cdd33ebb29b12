package artifacts

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits bound what an archive may unpack to.
type Limits struct {
	Entries int
	Entry   int64 // bytes of one file
	Total   int64 // bytes of all files
	Ratio   int64 // unpacked to packed size of a file over 1 MiB
}

// ratioFrom is the size from which the ratio of a file counts: small files of
// one repeated byte are honest.
const ratioFrom = 1 << 20

// Pack writes the regular files of fsys as a zip archive, in order of their
// names, without their times: the same files give the same bytes.
func Pack(w io.Writer, fsys fs.FS) error {
	z := zip.NewWriter(w)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("pack %q: it is no regular file", name)
		}
		return packFile(z, fsys, name)
	})
	return errors.Join(err, z.Close())
}

func packFile(z *zip.Writer, fsys fs.FS, name string) error {
	in, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}

// Unpack writes the files of a zip archive under dir, which must be empty. The
// whole directory of the archive is checked before the first byte is written:
// links, names that leave dir or collide, and anything over the limits are
// errors. Sizes are counted while unpacking. After an error dir is to be
// removed.
func Unpack(r io.ReaderAt, size int64, dir string, lim Limits) error {
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return fmt.Errorf("read archive: %w", err)
	}
	if err := check(z.File, lim); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := lim.Total
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		n, err := unpackFile(root, f, min(lim.Entry, left))
		if err != nil {
			return fmt.Errorf("unpack %q: %w", f.Name, err)
		}
		left -= n
	}
	return nil
}

// check refuses an archive by what its directory says.
func check(files []*zip.File, lim Limits) error {
	if len(files) > lim.Entries {
		return fmt.Errorf("the archive has %d entries, more than %d", len(files), lim.Entries)
	}
	seen := map[string]bool{}
	var total uint64
	for _, f := range files {
		if err := checkEntry(f, lim); err != nil {
			return fmt.Errorf("entry %q of the archive: %w", f.Name, err)
		}
		key := strings.ToLower(strings.TrimSuffix(f.Name, "/"))
		if seen[key] {
			return fmt.Errorf("entry %q of the archive: it is there twice", f.Name)
		}
		seen[key] = true
		if total += f.UncompressedSize64; total > uint64(lim.Total) {
			return fmt.Errorf("the archive unpacks to more than %d bytes", lim.Total)
		}
	}
	return nil
}

func checkEntry(f *zip.File, lim Limits) error {
	name := strings.TrimSuffix(f.Name, "/")
	mode := f.Mode()
	switch {
	case !utf8.ValidString(name) || len(name) > 255:
		return errors.New("its name is too long or no UTF-8")
	case !filepath.IsLocal(name) || path.Clean(name) != name || strings.ContainsFunc(name, unfit):
		return errors.New("its name leads out of the archive, or has characters that names can't have")
	case !mode.IsRegular() && !mode.IsDir():
		return errors.New("it is no regular file")
	case f.Flags&1 != 0:
		return errors.New("it is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return errors.New("its compression is unknown")
	case f.UncompressedSize64 > uint64(lim.Entry):
		return fmt.Errorf("it unpacks to more than %d bytes", lim.Entry)
	case f.UncompressedSize64 > ratioFrom && f.UncompressedSize64/max(1, f.CompressedSize64) > uint64(lim.Ratio):
		return fmt.Errorf("it unpacks to more than %d times its size", lim.Ratio)
	}
	return nil
}

// unfit reports characters that names in an archive of ours never have.
func unfit(r rune) bool { return r < ' ' || r == 0x7f || slices.Contains([]rune{'\\', ':'}, r) }

// unpackFile writes one file, at most limit bytes of it.
func unpackFile(root *os.Root, f *zip.File, limit int64) (int64, error) {
	if parent := path.Dir(f.Name); parent != "." {
		if err := root.MkdirAll(parent, 0o700); err != nil {
			return 0, err
		}
	}
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := root.OpenFile(f.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = errors.New("it is larger than it says, or than the limit")
	}
	return n, errors.Join(err, out.Close())
}
