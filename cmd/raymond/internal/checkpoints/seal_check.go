package checkpoints

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// The sizes in bytes of the longest log, and of the longest last line of a file that was
// cut off.
const (
	maxLog  = 256 << 20
	maxTorn = 64 << 20
)

// Altered says that a file is not what the main part wrote.
type Altered struct {
	Name string // of the file, below the folder
	Why  string
}

// Error implements error.
func (a *Altered) Error() string { return a.Name + ": " + a.Why }

// version is what a file may have.
type version struct {
	size int64
	sum  [sha256.Size]byte
}

// sealed is what a file may have according to its seals.
type sealed struct {
	versions []version // those before and after changes of which it is not known that they were made
	grows    bool      // a last line that was cut off may follow
}

// CheckSeals compares a folder with its log of seals. Of the files that needed names, below
// the folder, those that exist must be sealed. The error is an *Altered.
func CheckSeals(dir string, key SealKey, needed ...string) error {
	all, err := readLog(dir, key)
	if err != nil {
		return err
	}
	for _, name := range needed {
		if all[name] == nil {
			all[name] = &sealed{versions: []version{{0, sha256.Sum256(nil)}}}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].check(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// IsSealed reports whether a file below a folder is sealed, and as it was written, however
// others are.
func IsSealed(dir string, key SealKey, name string) bool {
	all, err := readLog(dir, key)
	return err == nil && all[name] != nil && all[name].check(dir, name) == nil
}

// readLog reads the seals of a folder, by the names of files.
func readLog(dir string, key SealKey) (map[string]*sealed, error) {
	data, _, err := files.Read(filepath.Join(dir, logName), maxLog)
	if err != nil {
		return nil, &Altered{logName, "can't be read"}
	}
	all, last := map[string]*sealed{}, []byte(nil)
	for line := range bytes.Lines(data) {
		if line[len(line)-1] != '\n' {
			break // it was cut off, and what it seals was never written
		}
		mac, text, _ := strings.Cut(string(line[:len(line)-1]), " ")
		last = code(key, last, text)
		if got, err := hex.DecodeString(mac); err != nil || !hmac.Equal(got, last) {
			return nil, &Altered{logName, "is not what was written"}
		}
		var kind, name string
		var v version
		var sum []byte
		if _, err := fmt.Sscanf(text, "%s %q %d %x", &kind, &name, &v.size, &sum); err != nil {
			return nil, &Altered{logName, "has a line of another form"}
		}
		v.sum = [sha256.Size]byte(sum)
		if all[name] == nil {
			all[name] = &sealed{versions: []version{{0, sha256.Sum256(nil)}}} // it is not there yet
		}
		all[name].change(kind, v)
	}
	return all, nil
}

// change is what a seal does to what a file may have.
func (s *sealed) change(kind string, v version) {
	last := s.versions[len(s.versions)-1]
	switch kind {
	case settles:
		s.versions = []version{last}
	case appends:
		s.versions, s.grows = []version{last, v}, true
	default: // it may fail, and another one may follow
		s.versions = append(s.versions, v)
	}
}

// check compares a file with its seals. One that is missing counts as empty.
func (s *sealed) check(dir, name string) error {
	from, size := io.ReaderAt(bytes.NewReader(nil)), int64(0)
	f, info, err := files.Open(filepath.Join(dir, filepath.FromSlash(name)))
	switch {
	case err == nil:
		defer f.Close()
		from, size = f, info.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return &Altered{name, err.Error()}
	}
	for _, v := range s.versions {
		if size < v.size || size > v.size && !(s.grows && isTorn(from, v.size, size)) {
			continue
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, io.NewSectionReader(from, 0, v.size)); err != nil {
			return &Altered{name, err.Error()}
		}
		if bytes.Equal(sum.Sum(nil), v.sum[:]) {
			return nil
		}
	}
	return &Altered{name, "is not what was written"}
}

// isTorn reports whether what a file has after a place is no whole line.
func isTorn(from io.ReaderAt, after, size int64) bool {
	if size-after > maxTorn {
		return false
	}
	rest := make([]byte, size-after)
	_, err := from.ReadAt(rest, after)
	return err == nil && bytes.IndexByte(rest, '\n') < 0
}
