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

// The maximum sizes in bytes of an integrity log, and of an incomplete last line of a file.
const (
	maxLog  = 256 << 20
	maxTorn = 64 << 20
)

// Altered is the error that a file is not as the main phase wrote it.
type Altered struct {
	Name string // of the file, relative to the directory
	Why  string
}

// Error implements error.
func (a *Altered) Error() string { return a.Name + ": " + a.Why }

// version is a content that a file may have.
type version struct {
	size int64
	sum  [sha256.Size]byte
}

// sealed is the set of contents that a file may have according to the log.
type sealed struct {
	versions []version // before and after changes that may or may not have been made
	grows    bool      // an incomplete last line may follow
}

// CheckSeals compares the files of a directory with its integrity log. Files in needed, relative to
// the directory, must be recorded if they exist. The error is an *Altered.
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

// IsSealed reports whether a file is recorded in the log of a directory and unaltered, regardless
// of other files.
func IsSealed(dir string, key SealKey, name string) bool {
	all, err := readLog(dir, key)
	return err == nil && all[name] != nil && all[name].check(dir, name) == nil
}

// readLog reads the integrity log of a directory. The result has the contents that each file may
// have, by name.
func readLog(dir string, key SealKey) (map[string]*sealed, error) {
	data, _, err := files.Read(filepath.Join(dir, logName), maxLog)
	if err != nil {
		return nil, &Altered{logName, "can't be read"}
	}
	all, last := map[string]*sealed{}, []byte(nil)
	for line := range bytes.Lines(data) {
		if line[len(line)-1] != '\n' {
			break // the line is incomplete, so the change that it announces was never made
		}
		mac, text, _ := strings.Cut(string(line[:len(line)-1]), " ")
		last = code(key, last, text)
		if got, err := hex.DecodeString(mac); err != nil || !hmac.Equal(got, last) {
			return nil, &Altered{logName, "has a wrong authentication code"}
		}
		var kind, name string
		var v version
		var sum []byte
		if _, err := fmt.Sscanf(text, "%s %q %d %x", &kind, &name, &v.size, &sum); err != nil {
			return nil, &Altered{logName, "has a line in an unknown format"}
		}
		v.sum = [sha256.Size]byte(sum)
		if all[name] == nil {
			all[name] = &sealed{versions: []version{{0, sha256.Sum256(nil)}}} // the file does not exist yet
		}
		all[name].change(kind, v)
	}
	return all, nil
}

// change applies a record to the contents that the file may have.
func (s *sealed) change(kind string, v version) {
	last := s.versions[len(s.versions)-1]
	switch kind {
	case settles:
		s.versions = []version{last}
	case appends:
		s.versions, s.grows = []version{last, v}, true
	default: // the change may fail, and another one may follow
		s.versions = append(s.versions, v)
	}
}

// check compares a file with its records. A missing file counts as empty.
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
	return &Altered{name, "differs from the recorded content"}
}

// isTorn reports whether the content after an offset is an incomplete line.
func isTorn(from io.ReaderAt, after, size int64) bool {
	if size-after > maxTorn {
		return false
	}
	rest := make([]byte, size-after)
	_, err := from.ReadAt(rest, after)
	return err == nil && bytes.IndexByte(rest, '\n') < 0
}
