// Package transcripts finds, reads, truncates, copies, installs and removes the transcripts of
// agent CLIs. A transcript is a file of lines that contains one conversation. The package never
// follows links that an agent may have created.
//
// The package doesn't depend on a particular agent CLI. A Store and a MessageReader describe the
// places and the format of a CLI's transcripts.
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
	// MaxLine is the maximum number of bytes of a line that are kept in memory. Longer lines
	// contain tool results with images or whole files. Only the types of these lines matter.
	MaxLine = 16 << 20
	// MaxRead is the maximum number of bytes of a transcript that are read. A longer transcript
	// could not be stored for a later job anyway. The limit also protects against a sparse file of
	// terabytes, which would keep a run from ending.
	MaxRead = 512 << 20
)

// ErrStop makes Read stop early without an error.
var ErrStop = errors.New("stop")

// FingerprintOf returns the fingerprint of a regular file. It returns an error for a symbolic link.
func FingerprintOf(path string) (runner.Fingerprint, error) {
	f, info, err := files.Open(path)
	return fingerprint(f, info, err, math.MaxInt64)
}

// fingerprint returns the fingerprint of the start of a file, and closes the file. most is the
// maximum number of bytes that are read. If err is not nil, it only returns err.
func fingerprint(f *os.File, info fs.FileInfo, err error, most int64) (runner.Fingerprint, error) {
	if err != nil {
		return runner.Fingerprint{}, err
	}
	defer f.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(f, most))
	return runner.Fingerprint{Size: n, Modified: info.ModTime().UTC(), SHA256: hex.EncodeToString(hash.Sum(nil))}, err
}

// TruncateFile truncates a file to length bytes. It does not change a shorter file, because that
// would add bytes that were never part of the conversation.
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

// Read calls the function take for each line of a transcript that starts in the bytes [from, to). If
// to is negative, Read continues to the end of the file. It reads at most MaxRead bytes.
//
// The argument at is the offset of the line, and truncated is set if the line is longer than MaxLine
// or too costly to decode as JSON. The bytes of the line are only valid during the call. If take
// returns an error, Read stops and returns that error, or nil if the error is ErrStop.
func Read(path string, from, to int64, take func(at int64, line []byte, truncated bool) error) error {
	f, _, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// Begin one byte earlier: this byte shows whether a line starts at the offset from.
	begin := max(0, from-1)
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
			_, _ = lines.Write(piece) // Write never returns an error
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

// HasPrefix reports whether the regular file at path starts with the content of another file, whose
// path is with.
func HasPrefix(path, with string) bool {
	short, err := FingerprintOf(with)
	if err != nil {
		return false
	}
	f, info, err := files.Open(path)
	long, err := fingerprint(f, info, err, short.Size)
	return err == nil && long.Size == short.Size && long.SHA256 == short.SHA256
}

// IsFolder reports whether a path is a directory and not a symbolic link.
func IsFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// Size returns the size of a regular file. It returns false if the path does not exist or is
// anything else.
func Size(path string) (int64, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// Newest returns the newest regular file below a folder that matches a pattern, as in fs.Glob, and
// for which test returns true. A nil test accepts all files. Newest returns false if no file
// matches.
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

// CheckRegularFiles returns an error if a path below a folder matches the pattern but is not a
// regular file. A CLI that opened a pipe would wait for a writer, and a link may point anywhere.
func CheckRegularFiles(folder, pattern string) error {
	for _, path := range Glob(folder, pattern) {
		if _, ok := Size(path); !ok {
			return fmt.Errorf("%q is not a regular file", path)
		}
	}
	return nil
}

// Glob returns the paths below a folder that match a pattern, as in fs.Glob.
func Glob(folder, pattern string) []string {
	found, _ := fs.Glob(os.DirFS(folder), pattern) // the patterns are well-formed
	for i, f := range found {
		found[i] = filepath.Join(folder, filepath.FromSlash(f))
	}
	return found
}

// ResolveLinks returns the path of a directory after resolving symbolic links, which is the path
// that a program running there sees. If the directory does not exist, only links in the existing
// part of the path are resolved.
func ResolveLinks(dir string) string {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		return resolved
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir
	}
	return filepath.Join(ResolveLinks(parent), filepath.Base(dir))
}

// uuidForm matches a UUID with lowercase letters.
var uuidForm = text.Regexp(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)

// IsUUID reports whether an id is a UUID with lowercase letters. A UUID is safe in a file name.
func IsUUID(id string) bool { return uuidForm().MatchString(id) }
