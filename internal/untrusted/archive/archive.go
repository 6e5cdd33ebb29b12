// Package archive reads zip archives that anybody may have made, within limits, and
// writes ones that it would read. Of the rules of all who read archives here the
// strictest hold for everybody: no encryption of any kind, no names that mean something
// else on another system or differ in case only, no shared bytes, and nothing beyond
// the limits, in what the archive says and in what it holds.
package archive

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
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
	// Check, when not nil, is asked about each entry too: its error says why an
	// entry of that name or size is refused, as in "has a wrong name".
	Check func(name string, size int64) error
	// Tee, when not nil, is asked as each file is unpacked: all of it is written to what it
	// returns, too.
	Tee func(name string) io.Writer
}

// Malformed says what is wrong with an archive: it is damaged, or hostile, or
// over the limits. Any other error of Open and Unpack is of this machine.
type Malformed struct {
	Entry string // "" for the archive as a whole
	What  string // as in "is encrypted"
}

func (e *Malformed) Error() string {
	if e.Entry == "" {
		return "the archive " + e.What
	}
	return fmt.Sprintf("entry %.80q of the archive %s", e.Entry, e.What)
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
	b.left = math.MaxInt64 // all of it may be read
	if err := check(z.File, lim); err != nil {
		return nil, err
	}
	return z, checkRanges(z.File, size)
}

// budget lets a number of bytes be read.
type budget struct {
	r    io.ReaderAt
	left int64
}

func (b *budget) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		// A file would blame the machine.
		return 0, errors.New("its list of entries lies before its beginning")
	}
	if b.left < int64(len(p)) {
		return 0, errors.New("its list of entries is too long")
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
	return &Malformed{Entry: entry, What: "can't be read: " + strings.TrimPrefix(err.Error(), "zip: ")}
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
		if total += f.UncompressedSize64; err == nil && total > uint64(lim.Total) {
			err = errors.New("brings the archive over " + words(lim.Total))
		}
		if err != nil {
			return &Malformed{Entry: f.Name, What: err.Error()}
		}
	}
	return nil
}

func checkEntry(f *zip.File, lim Limits) error {
	if err := CheckEntryName(f.Name); err != nil {
		return err
	}
	const encrypted = 1 | 1<<6 | 1<<13 // traditional, strong, masked headers
	mode, size := f.Mode(), f.UncompressedSize64
	switch {
	case !mode.IsRegular() && !mode.IsDir(), mode.IsDir() != strings.HasSuffix(f.Name, "/"):
		return fmt.Errorf("is not a regular file but %v", mode.Type())
	case mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return errors.New("has special permissions")
	case f.Flags&encrypted != 0:
		return errors.New("is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Errorf("is compressed by the unknown method %d", f.Method)
	case size > uint64(lim.Entry):
		return errors.New("unpacks to more than " + words(lim.Entry))
	case lim.Check == nil:
		return nil
	}
	return lim.Check(f.Name, int64(size))
}

// maxName bounds a name, in bytes: file systems have no longer ones.
const maxName = 255

// CheckEntryName refuses names that lead out of a folder, or mean something else on
// another system. A folder's name ends with a slash. The error is as in "has a colon
// in its name".
func CheckEntryName(name string) error {
	name = strings.TrimSuffix(name, "/")
	switch {
	case len(name) > maxName:
		return fmt.Errorf("has a name of more than %d bytes", maxName)
	case !utf8.ValidString(name):
		return errors.New("has a name that is no UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("has a control character in its name")
	case strings.ContainsRune(name, '\\'):
		return errors.New("has a backslash in its name")
	case strings.ContainsRune(name, ':'):
		return errors.New("has a colon in its name")
	case strings.HasPrefix(name, "/"):
		return errors.New("has an absolute name")
	case !filepath.IsLocal(name) || path.Clean(name) != name || name == ".":
		return errors.New("has a name that is no path inside the archive")
	}
	return nil
}

// names are those of an archive so far, without regard to case. The value says
// that it is a folder's.
type names map[string]bool

// add refuses a name that is there already, and a file where a folder must be.
func (n names) add(name string) error {
	key := fold(strings.TrimSuffix(name, "/"))
	if _, ok := n[key]; ok {
		return errors.New("is there twice")
	}
	for at := path.Dir(key); at != "."; at = path.Dir(at) {
		if dir, ok := n[at]; ok && !dir {
			return errors.New("lies in a folder that is a file")
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
			return &Malformed{Entry: f.Name, What: "reaches over the end of the archive"}
		}
		spans = append(spans, span{f.Name, from, from + int64(f.CompressedSize64)})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to || spans[i].from == spans[i-1].from {
			return &Malformed{Entry: spans[i].name, What: "shares bytes with another"}
		}
	}
	return nil
}

// Read returns what an entry holds, at most most bytes. Its error is a *Malformed if
// the archive is to blame.
func Read(f *zip.File, most int64) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, blame(f.Name, err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, blame(f.Name, err)
	case int64(len(data)) > most:
		return nil, &Malformed{Entry: f.Name, What: "unpacks to more than " + words(most)}
	}
	return data, nil
}

// words words a number of bytes.
func words(n int64) string {
	if n > 0 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
