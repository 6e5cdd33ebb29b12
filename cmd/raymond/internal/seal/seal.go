// Package seal lets the post part of a step find out whether what the main part has
// left in the step's folder is what it wrote. Each change of a file is put down in a
// log of seals before it is made, under a key that both parts derive from a token of
// the job and that is written nowhere. So after a crash at any moment a file is what
// its last seal says, or the one before.
//
// Who can write to the folder, and takes all of it back to what it was at an earlier
// moment, is not noticed.
package seal

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

// Key is what both parts of a step know.
type Key []byte

// NewKey derives a key from a token of the job, for the step that an identity names.
func NewKey(token, identity string) (Key, error) {
	return hkdf.Key(sha256.New, []byte(token), nil, "raymond run files v1\x00"+identity, sha256.Size)
}

// Seals puts down what a process writes to a folder. Its methods may be called by any
// goroutine, each for another file. A nil *Seals puts down nothing.
type Seals struct {
	dir string
	key Key

	mu    sync.Mutex // guards what follows
	log   *os.File
	last  []byte               // the code of the last line
	end   int64                // of that line
	grown map[string]hash.Hash // of files that are appended to
	size  map[string]int64     // of these
}

// The kinds of seals.
const (
	replaces = "replace" // the file is about to have this instead of what it has
	appends  = "append"  // the file is about to have this, which begins with what it has
	settles  = "done"    // the last change has been made
)

// New begins a log of seals in a folder that has none.
func New(dir string, key Key) (*Seals, error) {
	log, _, err := files.OpenFile(filepath.Join(dir, logName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Seals{dir: dir, key: key, log: log, grown: map[string]hash.Hash{}, size: map[string]int64{}}, nil
}

// Replace is to be called before a file gets other content, and Done after it.
func (s *Seals) Replace(path string, data []byte) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.grown, path)
	return s.put(replaces, path, version{int64(len(data)), sha256.Sum256(data)})
}

// Append is to be called before data is added to a file, which was empty when these
// seals first heard of it, or was adopted.
func (s *Seals) Append(path string, data []byte) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grown[path] == nil {
		s.grown[path], s.size[path] = sha256.New(), 0
	}
	sum, err := s.grown[path].(hash.Cloner).Clone()
	if err != nil {
		return err
	}
	sum.Write(data)
	size := s.size[path] + int64(len(data))
	if err := s.put(appends, path, version{size, [sha256.Size]byte(sum.Sum(nil))}); err != nil {
		return err
	}
	s.grown[path], s.size[path] = sum, size
	return nil
}

// Done says that a file has what the last call for it named.
func (s *Seals) Done(path string) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(settles, path, version{})
}

// Adopt seals what a file has, so that it can be appended to. A missing file is an
// empty one.
func (s *Seals) Adopt(path string) error {
	if s == nil {
		return nil
	}
	return s.place(path, path)
}

// Place moves a file to where it can be appended to, and seals it before it is there. It may be missing.
func (s *Seals) Place(from, to string) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s == nil {
		return files.Rename(from, to)
	}
	return s.place(from, to)
}

func (s *Seals) place(from, to string) error {
	sum, size, err := sumOf(from)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grown[to], s.size[to] = sum, size
	if err := s.put(replaces, to, version{size, [sha256.Size]byte(sum.Sum(nil))}); err != nil {
		return err
	}
	if from != to {
		if err := files.Rename(from, to); err != nil {
			return err
		}
	}
	return s.put(settles, to, version{})
}

// Sum returns the length and the sum of a file that is appended to, as the last call for it
// named them; -1 when there was none since it was replaced.
func (s *Seals) Sum(path string) (int64, [sha256.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grown[path] == nil {
		return -1, [sha256.Size]byte{}
	}
	return s.size[path], [sha256.Size]byte(s.grown[path].Sum(nil))
}

// sumOf begins a sum with what a file has.
func sumOf(path string) (sum hash.Hash, size int64, err error) {
	sum = sha256.New()
	f, _, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return sum, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	size, err = io.Copy(sum, f)
	return sum, size, err
}

// Remove removes a file, and seals that. It may be missing.
func (s *Seals) Remove(path string) error {
	if err := s.Replace(path, nil); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.Done(path)
}

// Note keeps a value as WriteNote does, and seals it.
func (s *Seals) Note(file string, value any) error {
	if s == nil {
		return WriteNote(file, value)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := s.Replace(file, data); err != nil {
		return err
	}
	if err := WriteNote(file, value); err != nil {
		return err
	}
	return s.Done(file)
}

// put adds a line to the log, or nothing if that fails.
func (s *Seals) put(kind, path string, v version) error {
	name, err := filepath.Rel(s.dir, path)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s %q %d %x", kind, filepath.ToSlash(name), v.size, v.sum)
	last := code(s.key, s.last, text)
	n, err := s.log.WriteAt(fmt.Appendf(nil, "%x %s\n", last, text), s.end)
	if err != nil { // as on a full disk: the next line is not to follow half of one
		return fmt.Errorf("seal %s: %w", name, errors.Join(err, s.log.Truncate(s.end)))
	}
	s.last, s.end = last, s.end+int64(n)
	return nil
}

// code authenticates a line and all lines before it.
func code(key Key, before []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(before)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// version is what a file may have.
type version struct {
	size int64
	sum  [sha256.Size]byte
}
