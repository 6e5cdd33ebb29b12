package action

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// logName is the name of the integrity log in a step's directory.
const logName = "seals"

// integrityKey is the key of an integrity log. Both phases of a step can derive it.
type integrityKey []byte

// newIntegrityKey derives a key from a token of the job, for the step that identity names.
func newIntegrityKey(token, identity string) (integrityKey, error) {
	return hkdf.Key(sha256.New, []byte(token), nil, "raymond run files v1\x00"+identity, sha256.Size)
}

// integrityLog is an integrity log with which the post phase of a step checks that the files in the step's
// directory are as the main phase wrote them. Every change of a file is recorded before it is made.
// The log is authenticated with a key that both phases derive from a token of the job and that is
// never written to disk. After a crash at any time, a file has the content of its last record or of
// the one before it. An attacker who can write to the directory and restores all of it, including
// the log, to an earlier time is not detected. Methods may be called by several goroutines, but for
// different files. A nil *integrityLog records nothing.
type integrityLog struct {
	dir string
	key integrityKey

	mu   sync.Mutex // guards the fields below
	log  *os.File
	last []byte // the authentication code of the last line
	end  int64  // the offset of the end of that line
	now  map[string]content
}

// content describes the content of a file: its size and its digest.
type content struct {
	size int64
	sum  hash.Hash
}

func contentOf(data []byte) content {
	sum := sha256.New()
	sum.Write(data)
	return content{int64(len(data)), sum}
}

// The kinds of records in the log.
const (
	replaces = "replace" // the file is about to get this content instead of its present one
	appends  = "append"  // the file is about to get this content, which begins with its present one
	settles  = "done"    // the last change has been made
)

// newIntegrityLog creates the integrity log of a directory. It fails if the directory already has one.
func newIntegrityLog(dir string, key integrityKey) (*integrityLog, error) {
	log, _, err := files.OpenFile(filepath.Join(dir, logName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &integrityLog{dir: dir, key: key, log: log, now: map[string]content{}}, nil
}

// Replace must be called before the content of a file is replaced, and Done afterwards.
func (l *integrityLog) Replace(path string, data []byte) error {
	return l.put(replaces, path, contentOf(data))
}

// Append must be called before data is appended to a file. The file must have been empty when it
// was first recorded, or have been adopted.
func (l *integrityLog) Append(path string, data []byte) error {
	was, _ := l.has(path)
	sum, err := was.sum.(hash.Cloner).Clone()
	if err != nil {
		return err
	}
	sum.Write(data)
	return l.put(appends, path, content{was.size + int64(len(data)), sum})
}

// Done records that a file has the content of the last call for it.
func (l *integrityLog) Done(path string) error {
	has, _ := l.has(path)
	return l.put(settles, path, has)
}

// Adopt records the present content of a file, so that data can be appended to it. A missing file
// counts as empty.
func (l *integrityLog) Adopt(path string) error {
	if l == nil {
		return nil
	}
	has, err := hasNow(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(l.put(replaces, path, has), l.Done(path))
}

// Place renames a file to a name under which data can be appended to it, and records it there
// first. The file may be missing.
func (l *integrityLog) Place(from, to string) error {
	has, err := hasNow(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = l.put(replaces, to, has)
	}
	if err == nil {
		err = files.Rename(from, to)
	}
	if err == nil {
		err = l.Done(to)
	}
	return err
}

// hasNow returns the present content of a file, or empty content with an error.
func hasNow(path string) (content, error) {
	has := contentOf(nil)
	f, _, err := files.Open(path)
	if err != nil {
		return has, err
	}
	defer f.Close()
	has.size, err = io.Copy(has.sum, f)
	return has, err
}

// Note saves a value in a file as files.WriteJSON does, and records the change.
func (l *integrityLog) Note(file string, value any) error {
	data, err := json.Marshal(value)
	if err == nil {
		err = l.Replace(file, data)
	}
	if err == nil {
		err = files.WriteJSON(file, json.RawMessage(data))
	}
	if err == nil {
		err = l.Done(file)
	}
	return err
}

// Content implements store.IntegrityLog.
func (l *integrityLog) Content(file string) (size int64, sum [sha256.Size]byte, ok bool) {
	has, ok := l.has(file)
	return has.size, [sha256.Size]byte(has.sum.Sum(nil)), ok
}

// has returns the last recorded content of a file, or empty content for an unrecorded file.
func (l *integrityLog) has(path string) (c content, isNamed bool) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		c, isNamed = l.now[path]
	}
	if !isNamed {
		c = contentOf(nil)
	}
	return c, isNamed
}

// put appends a record of a file's next content to the log. If this fails, it appends nothing.
func (l *integrityLog) put(kind, path string, next content) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	name, err := filepath.Rel(l.dir, path)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s %q %d %x", kind, filepath.ToSlash(name), next.size, next.sum.Sum(nil))
	last := code(l.key, l.last, text)
	n, err := l.log.WriteAt(fmt.Appendf(nil, "%x %s\n", last, text), l.end)
	if err != nil { // for example on a full disk: the next record must not follow half a line
		return fmt.Errorf("seal %s: %w", name, errors.Join(err, l.log.Truncate(l.end)))
	}
	l.last, l.end, l.now[path] = last, l.end+int64(n), next
	return nil
}

// code returns the authentication code of a line and all lines before it.
func code(key integrityKey, before []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(before)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// The maximum sizes in bytes of an integrity log, and of an incomplete last line of a file.
const (
	maxLog  = 256 << 20
	maxTorn = 64 << 20
)

// alteredError is the error that a file is not as the main phase wrote it.
type alteredError struct {
	Name string // of the file, relative to the directory
	Why  string
}

// Error implements error.
func (a *alteredError) Error() string { return a.Name + ": " + a.Why }

// version is a content that a file may have.
type version struct {
	size int64
	sum  [sha256.Size]byte
}

// permitted is the set of contents that a file may have according to the log.
type permitted struct {
	versions []version // before and after changes that may or may not have been made
	grows    bool      // an incomplete last line may follow
}

// checkIntegrity compares the files of a directory with its integrity log. Files in needed, relative to
// the directory, must be recorded if they exist. The error is an *alteredError.
func checkIntegrity(dir string, key integrityKey, needed ...string) error {
	all, err := readLog(dir, key)
	if err != nil {
		return err
	}
	for _, name := range needed {
		if all[name] == nil {
			all[name] = &permitted{versions: []version{{0, sha256.Sum256(nil)}}}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].check(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// isUnaltered reports whether a file is recorded in the log of a directory and unaltered, regardless
// of other files.
func isUnaltered(dir string, key integrityKey, name string) bool {
	all, err := readLog(dir, key)
	return err == nil && all[name] != nil && all[name].check(dir, name) == nil
}

// readLog reads the integrity log of a directory. The result has the contents that each file may
// have, by name.
func readLog(dir string, key integrityKey) (map[string]*permitted, error) {
	data, _, err := files.Read(filepath.Join(dir, logName), maxLog)
	if err != nil {
		return nil, &alteredError{logName, "can't be read"}
	}
	all, last := map[string]*permitted{}, []byte(nil)
	for line := range bytes.Lines(data) {
		if line[len(line)-1] != '\n' {
			break // the line is incomplete, so the change that it announces was never made
		}
		mac, text, _ := strings.Cut(string(line[:len(line)-1]), " ")
		last = code(key, last, text)
		if got, err := hex.DecodeString(mac); err != nil || !hmac.Equal(got, last) {
			return nil, &alteredError{logName, "has a wrong authentication code"}
		}
		var kind, name string
		var v version
		var sum []byte
		if _, err := fmt.Sscanf(text, "%s %q %d %x", &kind, &name, &v.size, &sum); err != nil {
			return nil, &alteredError{logName, "has a line in an unknown format"}
		}
		v.sum = [sha256.Size]byte(sum)
		if all[name] == nil {
			all[name] = &permitted{versions: []version{{0, sha256.Sum256(nil)}}} // the file does not exist yet
		}
		all[name].change(kind, v)
	}
	return all, nil
}

// change applies a record to the contents that the file may have.
func (s *permitted) change(kind string, v version) {
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
func (s *permitted) check(dir, name string) error {
	from, size := io.ReaderAt(bytes.NewReader(nil)), int64(0)
	f, info, err := files.Open(filepath.Join(dir, filepath.FromSlash(name)))
	switch {
	case err == nil:
		defer f.Close()
		from, size = f, info.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return &alteredError{name, err.Error()}
	}
	for _, v := range s.versions {
		if size < v.size || size > v.size && !(s.grows && isTorn(from, v.size, size)) {
			continue
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, io.NewSectionReader(from, 0, v.size)); err != nil {
			return &alteredError{name, err.Error()}
		}
		if bytes.Equal(sum.Sum(nil), v.sum[:]) {
			return nil
		}
	}
	return &alteredError{name, "differs from the recorded content"}
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
