// Package archive reads zip archives from untrusted sources within limits, and writes archives that it
// would read. It rejects encrypted archives, names that mean something else on another system or differ
// only in case, entries that share bytes, and everything that exceeds the limits. It checks both the
// archive's directory and the unpacked bytes. The same strict rules apply to all callers.
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

// Limits are limits on the unpacked contents of an archive.
type Limits struct {
	// Entries is the maximum number of entries.
	Entries int
	Entry   int64 // maximum size of one file in bytes
	Total   int64 // maximum size of all files together in bytes
	// Check is called with each entry, in addition to the other checks. It may be nil. Its error explains why
	// the entry is rejected, for example "has a wrong name".
	Check func(name string, size int64) error
	// Before a file is unpacked, Tee is called with its name and returns a writer that receives a copy of
	// the file. Tee may be nil.
	Tee func(name string) io.Writer
}

// Malformed is the error for an archive that is damaged, hostile, or exceeds the limits. Any other error of
// Open and Unpack means that this machine failed.
type Malformed struct {
	Entry string // empty if the archive as a whole is malformed
	What  string // for example "is encrypted"
}

func (e *Malformed) Error() string {
	if e.Entry == "" {
		return "the archive " + e.What
	}
	return fmt.Sprintf("entry %.80q of the archive %s", e.Entry, e.What)
}

// Open reads and checks the directory of a zip archive. The error is a *Malformed if a rule is broken, for
// example if an entry is a link, if names collide, if entries share bytes, or if a limit is exceeded. Open
// doesn't unpack the entries, which may be larger than the directory says.
func Open(r io.ReaderAt, size int64, lim Limits) (*zip.Reader, error) {
	// The archive's directory may be as long as the whole archive, even if it declares a smaller length.
	// zip.NewReader reads all of it into memory, so the number of bytes that it can read is limited.
	b := &budget{r: r, left: 256<<10 + int64(lim.Entries)*1024}
	z, err := zip.NewReader(b, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, blame("", err)
	}
	b.left = math.MaxInt64 // no limit from here on
	if len(z.File) > lim.Entries {
		return nil, &Malformed{What: fmt.Sprintf("has %d entries, more than %d", len(z.File), lim.Entries)}
	}
	seen := names{}
	var total uint64
	for _, f := range z.File {
		err := checkEntry(f, lim)
		if err == nil {
			err = seen.add(f.Name)
		}
		if total += f.UncompressedSize64; err == nil && total > uint64(lim.Total) {
			err = errors.New("brings the archive over " + formatBytes(lim.Total))
		}
		if err != nil {
			return nil, &Malformed{Entry: f.Name, What: err.Error()}
		}
	}
	return z, checkRanges(z.File, size)
}

// budget is a reader that returns an error after left bytes.
type budget struct {
	r    io.ReaderAt
	left int64
}

func (b *budget) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		// An *os.File would return an *fs.PathError here, which blame would mistake for an error of this
		// machine.
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

// blame converts an error to a *Malformed, unless it is an error of this machine's file system.
func blame(entry string, err error) error {
	var machine *fs.PathError
	if err == nil || errors.As(err, &machine) {
		return err
	}
	return &Malformed{Entry: entry, What: "can't be read: " + strings.TrimPrefix(err.Error(), "zip: ")}
}

// checkEntry returns an error if an entry in the archive's directory breaks a rule.
func checkEntry(f *zip.File, lim Limits) error {
	if err := CheckEntryName(f.Name); err != nil {
		return err
	}
	const encrypted = 1 | 1<<6 | 1<<13 // traditional and strong encryption, and masked headers
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
		return errors.New("unpacks to more than " + formatBytes(lim.Entry))
	case lim.Check == nil:
		return nil
	}
	return lim.Check(f.Name, int64(size))
}

// maxName is the maximum length of a name, in bytes. Most file systems don't allow longer names.
const maxName = 255

// CheckEntryName returns an error if a name points outside of the archive's directory, or means something
// else on another system. The name of a directory ends with a slash. The error's text is a predicate such
// as "has a colon in its name".
func CheckEntryName(name string) error {
	name = strings.TrimSuffix(name, "/")
	switch {
	case len(name) > maxName:
		return fmt.Errorf("has a name of more than %d bytes", maxName)
	case !utf8.ValidString(name):
		return errors.New("has a name that isn't valid UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("has a control character in its name")
	case strings.ContainsRune(name, '\\'):
		return errors.New("has a backslash in its name")
	case strings.ContainsRune(name, ':'):
		return errors.New("has a colon in its name")
	case strings.HasPrefix(name, "/"):
		return errors.New("has an absolute name")
	case !filepath.IsLocal(name) || path.Clean(name) != name || name == ".":
		return errors.New("has a name that is not a path inside the archive")
	}
	return nil
}

// names are the entries of an archive so far, by folded name. The value is true for a directory.
type names map[string]bool

// add adds a name. It returns an error if the name exists already, or if a file is where a directory must be.
func (n names) add(name string) error {
	key := fold(strings.TrimSuffix(name, "/"))
	if _, ok := n[key]; ok {
		return errors.New("exists twice")
	}
	for at := path.Dir(key); at != "."; at = path.Dir(at) {
		if dir, ok := n[at]; ok && !dir {
			return errors.New("lies in a folder that is a file")
		}
		// A later entry for this directory is rejected as a duplicate.
		n[at] = true
	}
	n[key] = strings.HasSuffix(name, "/")
	return nil
}

// fold returns the same key for names that a file system which ignores case may treat as equal.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// checkRanges returns a *Malformed if entries share bytes or extend beyond the end of the archive. If entries
// could share bytes, a few bytes could be unpacked many times.
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
			return &Malformed{Entry: f.Name, What: "extends beyond the end of the archive"}
		}
		spans = append(spans, span{f.Name, from, from + int64(f.CompressedSize64)})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to || spans[i].from == spans[i-1].from {
			return &Malformed{Entry: spans[i].name, What: "shares bytes with another entry"}
		}
	}
	return nil
}

// Read returns the unpacked bytes of an entry. The error is a *Malformed if there are more than most bytes,
// or if the entry is damaged.
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
		return nil, &Malformed{Entry: f.Name, What: "unpacks to more than " + formatBytes(most)}
	}
	return data, nil
}

// formatBytes formats a number of bytes for messages.
func formatBytes(n int64) string {
	if n > 0 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
