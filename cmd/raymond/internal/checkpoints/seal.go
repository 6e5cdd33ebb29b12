package checkpoints

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// logName is the name of the integrity log in a step's directory.
const logName = "seals"

// SealKey is the key of an integrity log. Both phases of a step can derive it.
type SealKey []byte

// NewSealKey derives a key from a token of the job, for the step that identity names.
func NewSealKey(token, identity string) (SealKey, error) {
	return hkdf.Key(sha256.New, []byte(token), nil, "raymond run files v1\x00"+identity, sha256.Size)
}

// Seals is an integrity log with which the post phase of a step checks that the files in the step's
// directory are as the main phase wrote them. Every change of a file is recorded before it is made.
// The log is authenticated with a key that both phases derive from a token of the job and that is
// never written to disk. After a crash at any time, a file has the content of its last record or of
// the one before it. An attacker who can write to the directory and restores all of it, including
// the log, to an earlier time is not detected. Methods may be called by several goroutines, but for
// different files. A nil *Seals records nothing.
type Seals struct {
	dir string
	key SealKey

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

// NewSeals creates the integrity log of a directory. It fails if the directory already has one.
func NewSeals(dir string, key SealKey) (*Seals, error) {
	log, _, err := files.OpenFile(filepath.Join(dir, logName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Seals{dir: dir, key: key, log: log, now: map[string]content{}}, nil
}

// Replace must be called before the content of a file is replaced, and Done afterwards.
func (s *Seals) Replace(path string, data []byte) error {
	return s.put(replaces, path, contentOf(data))
}

// Append must be called before data is appended to a file. The file must have been empty when it
// was first recorded, or have been adopted.
func (s *Seals) Append(path string, data []byte) error {
	was, _ := s.has(path)
	sum, err := was.sum.(hash.Cloner).Clone()
	if err != nil {
		return err
	}
	sum.Write(data)
	return s.put(appends, path, content{was.size + int64(len(data)), sum})
}

// Done records that a file has the content of the last call for it.
func (s *Seals) Done(path string) error {
	has, _ := s.has(path)
	return s.put(settles, path, has)
}

// Adopt records the present content of a file, so that data can be appended to it. A missing file
// counts as empty.
func (s *Seals) Adopt(path string) error {
	if s == nil {
		return nil
	}
	has, err := hasNow(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(s.put(replaces, path, has), s.Done(path))
}

// Place renames a file to a name under which data can be appended to it, and records it there
// first. The file may be missing.
func (s *Seals) Place(from, to string) error {
	has, err := hasNow(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = s.put(replaces, to, has)
	}
	if err == nil {
		err = files.Rename(from, to)
	}
	if err == nil {
		err = s.Done(to)
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

// Note saves a value in a file as WriteNote does, and records the change.
func (s *Seals) Note(file string, value any) error {
	data, err := json.Marshal(value)
	if err == nil {
		err = s.Replace(file, data)
	}
	if err == nil {
		err = WriteNote(file, json.RawMessage(data))
	}
	if err == nil {
		err = s.Done(file)
	}
	return err
}

// has returns the last recorded content of a file, or empty content for an unrecorded file.
func (s *Seals) has(path string) (c content, isNamed bool) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		c, isNamed = s.now[path]
	}
	if !isNamed {
		c = contentOf(nil)
	}
	return c, isNamed
}

// put appends a record of a file's next content to the log. If this fails, it appends nothing.
func (s *Seals) put(kind, path string, next content) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name, err := filepath.Rel(s.dir, path)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s %q %d %x", kind, filepath.ToSlash(name), next.size, next.sum.Sum(nil))
	last := code(s.key, s.last, text)
	n, err := s.log.WriteAt(fmt.Appendf(nil, "%x %s\n", last, text), s.end)
	if err != nil { // for example on a full disk: the next record must not follow half a line
		return fmt.Errorf("seal %s: %w", name, errors.Join(err, s.log.Truncate(s.end)))
	}
	s.last, s.end, s.now[path] = last, s.end+int64(n), next
	return nil
}

// code returns the authentication code of a line and all lines before it.
func code(key SealKey, before []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(before)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
