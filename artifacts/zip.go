package artifacts

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits bound what an archive may unpack to.
type Limits struct {
	Entries int
	Entry   int64 // bytes of one file
	Total   int64 // bytes of all files
	Ratio   int64 // unpacked to packed size of a file over 1 MiB
	// Check, when not nil, is asked about each entry too: its error says why an
	// entry of that name or size is refused.
	Check func(name string, size int64) error
}

// Malformed says what is wrong with an archive: it is damaged, or hostile, or
// over the limits. Any other error of Open and Unpack is of this machine.
type Malformed struct {
	Entry string // "" for the archive as a whole
	What  string
}

// Error implements error.
func (e *Malformed) Error() string {
	if e.Entry == "" {
		return "the archive " + e.What
	}
	return fmt.Sprintf("entry %q of the archive: %s", e.Entry, e.What)
}

// ratioFrom is the size from which the ratio of a file counts: small files of
// one repeated byte are honest.
const ratioFrom = 1 << 20

// Unpack writes the files of a zip archive under dir, which must be empty. The
// whole directory of the archive is checked as Open does before the first byte
// is written, and no file becomes larger than the directory says. After an error, which is a
// *Malformed if the archive is to blame, dir is to be removed.
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
		if err := unpackFile(root, f); err != nil {
			return err
		}
	}
	return nil
}

// Open reads and checks the directory of a zip archive: links, names that lead
// out of a folder or collide, entries that share bytes, and anything over the
// limits make it a *Malformed. What the entries hold is not looked at, and may
// yet be larger than they say.
func Open(r io.ReaderAt, size int64, lim Limits) (*zip.Reader, error) {
	// A directory can be as long as the archive, whatever the archive says about
	// it, and all of it is held in memory.
	b := &budget{r: r, left: 256<<10 + int64(lim.Entries)*1024}
	z, err := zip.NewReader(b, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, blame("", err)
	}
	b.lift()
	if err := check(z.File, lim); err != nil {
		return nil, err
	}
	return z, checkRanges(z.File, size)
}

// budget lets a number of bytes be read, until it is lifted.
type budget struct {
	r    io.ReaderAt
	left int64
}

func (b *budget) lift() { b.left = math.MaxInt64 }

// ReadAt implements io.ReaderAt.
func (b *budget) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		// A file would blame the machine.
		return 0, errors.New("its directory points before its beginning")
	}
	if b.left < int64(len(p)) {
		return 0, errors.New("its directory is too long")
	}
	if b.left != math.MaxInt64 {
		b.left -= int64(len(p))
	}
	return b.r.ReadAt(p, off)
}

// blame tells errors of the machine from those of the archive.
func blame(entry string, err error) error {
	var machine *fs.PathError
	if err == nil || errors.As(err, &machine) {
		return err
	}
	what := strings.TrimPrefix(err.Error(), "zip: ")
	if entry == "" {
		what = "can't be read: " + what
	}
	return &Malformed{Entry: entry, What: what}
}

// check refuses an archive by what its directory says.
func check(files []*zip.File, lim Limits) error {
	if len(files) > lim.Entries {
		return &Malformed{What: fmt.Sprintf("has %d entries, more than %d", len(files), lim.Entries)}
	}
	seen := names{}
	var total uint64
	for _, f := range files {
		err := checkEntry(f, lim)
		if err == nil {
			err = seen.add(f.Name)
		}
		if err != nil {
			return blame(f.Name, err)
		}
		if total += f.UncompressedSize64; total > uint64(lim.Total) {
			return &Malformed{What: fmt.Sprintf("unpacks to more than %d bytes", lim.Total)}
		}
	}
	return nil
}

func checkEntry(f *zip.File, lim Limits) error {
	if err := CheckEntryName(f.Name); err != nil {
		return err
	}
	mode, size := f.Mode(), f.UncompressedSize64
	switch {
	case !mode.IsRegular() && !mode.IsDir(), mode.IsDir() != strings.HasSuffix(f.Name, "/"):
		return errors.New("it is no regular file")
	case mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return errors.New("it has special permissions")
	case f.Flags&1 != 0:
		return errors.New("it is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return errors.New("its compression is unknown")
	case size > uint64(lim.Entry):
		return fmt.Errorf("it unpacks to more than %d bytes", lim.Entry)
	case size > ratioFrom && size/max(1, f.CompressedSize64) > uint64(lim.Ratio):
		return fmt.Errorf("it unpacks to more than %d times its size", lim.Ratio)
	case lim.Check == nil:
		return nil
	}
	return lim.Check(f.Name, int64(size))
}

// CheckEntryName refuses names that lead out of a folder, or mean something else on
// another system. A folder's name ends with a slash.
func CheckEntryName(name string) error {
	name = strings.TrimSuffix(name, "/")
	switch {
	case !utf8.ValidString(name) || len(name) > 255:
		return errors.New("its name is too long or no UTF-8")
	case !filepath.IsLocal(name) || path.Clean(name) != name || name == "." || strings.ContainsFunc(name, unfit):
		return errors.New("its name leads out of the archive, or has characters that names can't have")
	}
	return nil
}

// unfit reports characters that names in an archive of ours never have.
func unfit(r rune) bool { return unicode.IsControl(r) || slices.Contains([]rune{'\\', ':'}, r) }

// names are those of an archive so far, without regard to case. The value says
// that it is a folder's.
type names map[string]bool

// add refuses a name that is there already, and a file where a folder must be.
func (n names) add(name string) error {
	key := fold(strings.TrimSuffix(name, "/"))
	if _, ok := n[key]; ok {
		return errors.New("it is there twice")
	}
	for at := path.Dir(key); at != "."; at = path.Dir(at) {
		if dir, ok := n[at]; ok && !dir {
			return errors.New("it lies in a folder that is a file")
		}
		// An entry for the folder itself may follow no more.
		n[at] = true
	}
	n[key] = strings.HasSuffix(name, "/")
	return nil
}

// fold makes names equal that a file system which doesn't tell letters by their
// case may take for one.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// checkRanges refuses archives whose entries overlap, by which a few bytes can
// be unpacked many times.
func checkRanges(files []*zip.File, size int64) error {
	type span struct {
		name     string
		from, to int64
	}
	var spans []span
	for _, f := range files {
		from, err := f.DataOffset()
		if err != nil {
			return blame(f.Name, err)
		}
		if from > size || f.CompressedSize64 > uint64(size-from) {
			return &Malformed{Entry: f.Name, What: "it reaches over the end of the archive"}
		}
		spans = append(spans, span{f.Name, from, from + int64(f.CompressedSize64)})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to || spans[i].from == spans[i-1].from {
			return &Malformed{Entry: spans[i].name, What: "it shares bytes with another"}
		}
	}
	return nil
}

// unpackFile writes one file. The zip library counts what is unpacked, and stops
// after as many bytes as the directory says, which are within the limits.
func unpackFile(root *os.Root, f *zip.File) error {
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
	_, err = io.Copy(out, in)
	return errors.Join(blame(f.Name, err), out.Close())
}
