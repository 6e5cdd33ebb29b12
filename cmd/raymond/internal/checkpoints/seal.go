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

// logName is the name of the log of seals in the folder.
const logName = "seals"

// SealKey is what both parts of a step know.
type SealKey []byte

// NewSealKey derives a key from a token of the job, for the step that an identity names.
func NewSealKey(token, identity string) (SealKey, error) {
	return hkdf.Key(sha256.New, []byte(token), nil, "raymond run files v1\x00"+identity, sha256.Size)
}

// Seals let the post part of a step find out whether what the main part has left in the
// step's folder is what it wrote. Each change of a file is put down in a log of seals
// before it is made, under a key that both parts derive from a token of the job and that
// is written nowhere. So after a crash at any moment a file is what its last seal says, or
// the one before. Who can write to the folder, and takes all of it back to what it was at
// an earlier moment, is not noticed. Methods may be called by any goroutine, each for
// another file. A nil *Seals puts down nothing.
type Seals struct {
	dir string
	key SealKey

	mu   sync.Mutex // guards what follows
	log  *os.File
	last []byte // the code of the last line
	end  int64  // of that line
	now  map[string]content
}

// content is what a file has: so many bytes with this sum.
type content struct {
	size int64
	sum  hash.Hash
}

func contentOf(data []byte) content {
	sum := sha256.New()
	sum.Write(data)
	return content{int64(len(data)), sum}
}

// The kinds of seals.
const (
	replaces = "replace" // the file is about to have this instead of what it has
	appends  = "append"  // the file is about to have this, which begins with what it has
	settles  = "done"    // the last change has been made
)

// NewSeals begins a log of seals in a folder that has none.
func NewSeals(dir string, key SealKey) (*Seals, error) {
	log, _, err := files.OpenFile(filepath.Join(dir, logName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Seals{dir: dir, key: key, log: log, now: map[string]content{}}, nil
}

// Replace is to be called before a file gets other content, and Done after it.
func (s *Seals) Replace(path string, data []byte) error {
	return s.put(replaces, path, contentOf(data))
}

// Append is to be called before data is added to a file, which was empty when these
// seals first heard of it, or was adopted.
func (s *Seals) Append(path string, data []byte) error {
	was, _ := s.has(path)
	sum, err := was.sum.(hash.Cloner).Clone()
	if err != nil {
		return err
	}
	sum.Write(data)
	return s.put(appends, path, content{was.size + int64(len(data)), sum})
}

// Done says that a file has what the last call for it named.
func (s *Seals) Done(path string) error {
	has, _ := s.has(path)
	return s.put(settles, path, has)
}

// Adopt seals what a file has, so that it can be appended to. A missing file is an
// empty one.
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

// Place moves a file to where it can be appended to, and seals it before it is there. It may be missing.
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

// hasNow returns what a file has; nothing with an error.
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

// Note keeps a value as WriteNote does, and seals it.
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

// has returns what a file has, as the last call for it named it: nothing where there was none.
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

// put adds a line to the log of what a file has next, or nothing if that fails.
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
	if err != nil { // as on a full disk: the next line is not to follow half of one
		return fmt.Errorf("seal %s: %w", name, errors.Join(err, s.log.Truncate(s.end)))
	}
	s.last, s.end, s.now[path] = last, s.end+int64(n), next
	return nil
}

// code authenticates a line and all lines before it.
func code(key SealKey, before []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(before)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
