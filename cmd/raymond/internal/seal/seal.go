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
	"bytes"
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

func contentOf(from io.Reader) (content, error) {
	sum := sha256.New()
	size, err := io.Copy(sum, from)
	return content{size, sum}, err
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
	return &Seals{dir: dir, key: key, log: log, now: map[string]content{}}, nil
}

// Replace is to be called before a file gets other content, and Done after it.
func (s *Seals) Replace(path string, data []byte) error {
	return s.put(replaces, path, func(content) (content, error) { return contentOf(bytes.NewReader(data)) })
}

// Append is to be called before data is added to a file, which was empty when these
// seals first heard of it, or was adopted.
func (s *Seals) Append(path string, data []byte) error {
	return s.put(appends, path, func(was content) (content, error) {
		sum, err := was.sum.(hash.Cloner).Clone()
		if err != nil {
			return was, err
		}
		sum.Write(data)
		return content{was.size + int64(len(data)), sum}, nil
	})
}

// Done says that a file has what the last call for it named.
func (s *Seals) Done(path string) error {
	return s.put(settles, path, func(was content) (content, error) { return was, nil })
}

// Adopt seals what a file has, so that it can be appended to. A missing file is an
// empty one.
func (s *Seals) Adopt(path string) error { return s.Place(path, path) }

// Place moves a file to where it can be appended to, and seals it before it is there. It may be missing.
func (s *Seals) Place(from, to string) error {
	if _, err := os.Lstat(from); from != to && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	has := func(content) (content, error) {
		f, _, err := files.Open(from)
		if errors.Is(err, fs.ErrNotExist) {
			return contentOf(bytes.NewReader(nil))
		}
		if err != nil {
			return content{}, err
		}
		defer f.Close()
		return contentOf(f)
	}
	return s.around(to, has, func() error {
		if from == to {
			return nil
		}
		return files.Rename(from, to)
	})
}

// Note keeps a value as WriteNote does, and seals it.
func (s *Seals) Note(file string, value any) error {
	has := func(content) (content, error) {
		data, err := json.Marshal(value)
		if err != nil {
			return content{}, err
		}
		return contentOf(bytes.NewReader(data))
	}
	return s.around(file, has, func() error { return WriteNote(file, value) })
}

// around seals what a file is about to have, has it made, and says that it was.
func (s *Seals) around(path string, has func(content) (content, error), do func() error) error {
	err := s.put(replaces, path, has)
	if err == nil {
		err = do()
	}
	if err == nil {
		err = s.Done(path)
	}
	return err
}

// Sum returns the length and the sum of a file, as the last call for it named them; -1 when there was none.
func (s *Seals) Sum(path string) (int64, [sha256.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, ok := s.now[path]
	if !ok {
		return -1, [sha256.Size]byte{}
	}
	return now.size, [sha256.Size]byte(now.sum.Sum(nil))
}

// put adds a line to the log of what a file has next, or nothing if that fails.
func (s *Seals) put(kind, path string, next func(was content) (content, error)) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.now[path]
	if !ok {
		was.sum = sha256.New()
	}
	has, err := next(was)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(s.dir, path)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s %q %d %x", kind, filepath.ToSlash(name), has.size, has.sum.Sum(nil))
	last := code(s.key, s.last, text)
	n, err := s.log.WriteAt(fmt.Appendf(nil, "%x %s\n", last, text), s.end)
	if err != nil { // as on a full disk: the next line is not to follow half of one
		return fmt.Errorf("seal %s: %w", name, errors.Join(err, s.log.Truncate(s.end)))
	}
	s.last, s.end, s.now[path] = last, s.end+int64(n), has
	return nil
}

// code authenticates a line and all lines before it.
func code(key Key, before []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(before)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
