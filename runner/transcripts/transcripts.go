// Package transcripts keeps the conversations of all agent CLIs that have one in a file of lines: it finds, marks, cuts, reads
// and copies such a file, and puts it in place and removes it without following links that an agent may have made.
//
// It knows no agent CLI: where each keeps its files, and what is in them, is said by Kept and Teller.
package transcripts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

const (
	// MaxLine is how much of a line is kept in memory, in bytes. Longer ones are results of
	// tools with images or whole files, of which only the type matters.
	MaxLine = 16 << 20
	// MaxRead is how much of a transcript is read, in bytes. One that is longer can't be
	// stored for a later job either; a file that only seems to have terabytes must not keep
	// a run from ending.
	MaxRead = 512 << 20
)

// ErrStop ends a Read early.
var ErrStop = errors.New("stop")

// FingerprintOf returns the mark of a regular file, which is not reached through a link.
func FingerprintOf(path string) (runner.Fingerprint, error) {
	f, info, err := files.Open(path)
	return markOf(f, info, err, math.MaxInt64)
}

// markOf reads as much of a file, and closes it.
func markOf(f *os.File, info fs.FileInfo, err error, most int64) (runner.Fingerprint, error) {
	if err != nil {
		return runner.Fingerprint{}, err
	}
	defer f.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(f, most))
	return runner.Fingerprint{Size: n, Modified: info.ModTime().UTC(), SHA256: hex.EncodeToString(hash.Sum(nil))}, err
}

// TruncateFile truncates a file to a length, and leaves a shorter one alone: bytes that were never
// there would not be the conversation either.
func TruncateFile(path string, length int64) error {
	f, info, err := files.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if length < 0 || info.Size() <= length {
		return nil
	}
	return errors.Join(f.Truncate(length), f.Sync())
}

// Read calls take for each line of a transcript that begins in the bytes from from to before to, with its place, until take
// returns an error, which is returned; ErrStop ends the reading without one. to < 0 is the end, and at most MaxRead bytes are
// read. A line that began before from is passed over. Lines over MaxLine, of which take gets the beginning, and those that would
// cost too much to decode as JSON are truncated. The bytes of a line are valid only during the call.
func Read(path string, from, to int64, take func(at int64, line []byte, truncated bool) error) error {
	f, _, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	begin := max(0, from-1) // the byte before tells whether a line begins
	if _, err := f.Seek(begin, io.SeekStart); err != nil {
		return err
	}
	var stop error
	at := begin
	lines := proc.Lines{Max: MaxLine, Line: func(line []byte, truncated bool) {
		switch {
		case stop != nil || begin < from:
		case to >= 0 && begin >= to:
			stop = ErrStop
		default:
			stop = take(begin, line, truncated || jsonstrict.CheckSize(line) != nil)
		}
	}}
	chunk := make([]byte, 64<<10)
	for r := io.LimitReader(f, MaxRead); err == nil && stop == nil; {
		var n int
		n, err = r.Read(chunk)
		for piece := range bytes.Lines(chunk[:n]) {
			_, _ = lines.Write(piece) // never fails
			if at += int64(len(piece)); piece[len(piece)-1] == '\n' {
				begin = at
			}
		}
	}
	lines.Flush()
	if errors.Is(stop, ErrStop) {
		stop = nil
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, stop)
}

// HasPrefix reports whether a regular file begins with all that another one has.
func HasPrefix(path, with string) bool {
	short, err := FingerprintOf(with)
	if err != nil {
		return false
	}
	f, info, err := files.Open(path)
	long, err := markOf(f, info, err, short.Size)
	return err == nil && long.Size == short.Size && long.SHA256 == short.SHA256
}

// IsFolder reports whether a path is a folder, and no link to one.
func IsFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// Size returns the size of a regular file, and false when a path is none.
func Size(path string) (int64, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// Newest returns the newest regular file below a folder whose path in it a pattern matches, as
// in fs.Glob, and false when there is none. With a test it is the newest that passes.
func Newest(folder, pattern string, test func(path string) bool) (string, bool) {
	var best string
	var at int64
	for _, path := range Glob(folder, pattern) {
		info, err := os.Lstat(path)
		if err == nil && info.Mode().IsRegular() && info.ModTime().UnixNano() > at && (test == nil || test(path)) {
			best, at = path, info.ModTime().UnixNano()
		}
	}
	return best, best != ""
}

// CheckRegularFiles returns an error if something below a folder whose path in it the pattern matches is
// no regular file: a CLI that opens a pipe waits for whoever writes to it, and a link leads anywhere.
func CheckRegularFiles(folder, pattern string) error {
	for _, path := range Glob(folder, pattern) {
		if _, ok := Size(path); !ok {
			return fmt.Errorf("%q is no regular file, as a transcript is", path)
		}
	}
	return nil
}

// Glob returns the paths of what is below a folder where its path in it matches a pattern, as in fs.Glob.
func Glob(folder, pattern string) []string {
	found, _ := fs.Glob(os.DirFS(folder), pattern) // patterns are well-formed
	for i, f := range found {
		found[i] = filepath.Join(folder, filepath.FromSlash(f))
	}
	return found
}

// ResolveLinks returns the path of a directory without links, as a program sees it that works in it;
// of one that is not there yet, as far as it is.
func ResolveLinks(dir string) string {
	if whole, err := filepath.EvalSymlinks(dir); err == nil {
		return whole
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir
	}
	return filepath.Join(ResolveLinks(parent), filepath.Base(dir))
}

var uuidForm = text.Regexp(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)

// IsUUID reports whether an id is a UUID in lower case, which is safe as a part of a file's name.
func IsUUID(id string) bool { return uuidForm().MatchString(id) }
