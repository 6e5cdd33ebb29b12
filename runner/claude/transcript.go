package claude

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"unicode/utf16"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// Length implements runner.Sessions.
func (b *Backend) Length(session, dir string) (int64, bool) {
	path, ok := b.transcript(session, dir)
	if !ok {
		return 0, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return info.Size(), true
}

// prepare brings the transcript of a session to be resumed to the length that
// the order asks for.
func (b *Backend) prepare(o runner.Order) ([]string, *runner.Failure) {
	if o.Session != state.Resume {
		return nil, nil
	}
	path, ok := b.transcript(o.SessionID, o.Dir)
	if !ok {
		if o.Cut == nil {
			return nil, nil
		}
		return []string{fmt.Sprintf("no transcript of session %s: nothing was cut back", o.SessionID)}, nil
	}
	if o.Cut != nil {
		if err := cutBack(path, *o.Cut); err != nil {
			return nil, fatal("cut back transcript: %v", err)
		}
	}
	// The CLI writes the file before the prompt. Killed in between, it leaves one
	// that it can neither resume nor begin again.
	if ok, err := holdsPrompt(path); err == nil && !ok {
		return nil, fatal("session gone: the transcript of %s holds no prompt", o.SessionID)
	}
	return nil, nil
}

// cutBack truncates a file to a length, and leaves a shorter one alone: bytes
// that were never there would not be the conversation either.
func cutBack(path string, length int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if length < 0 || info.Size() <= length {
		return nil
	}
	return errors.Join(f.Truncate(length), f.Sync())
}

// errStop ends the reading of a file early.
var errStop = errors.New("stop")

// holdsPrompt says whether a transcript can be resumed.
func holdsPrompt(path string) (bool, error) {
	found := false
	err := eachRecord(path, 0, func(line []byte, _ bool) error {
		if typeOf(line) == "user" {
			found = true
			return errStop
		}
		return nil
	})
	return found, err
}

// eachRecord calls take for each line of a transcript from a byte on, until it
// returns errStop. Of lines over maxLine it gets the beginning.
func eachRecord(path string, from int64, take func(line []byte, truncated bool) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	var stop error
	lines := proc.Lines{Max: maxLine, Line: func(line []byte, truncated bool) {
		if stop == nil {
			stop = take(line, truncated)
		}
	}}
	chunk := make([]byte, 64<<10)
	for r := bufio.NewReader(f); err == nil && stop == nil; {
		var n int
		n, err = r.Read(chunk)
		_, _ = lines.Write(chunk[:n]) // never fails
	}
	lines.Flush()
	if errors.Is(err, io.EOF) || errors.Is(stop, errStop) {
		return nil
	}
	return errors.Join(err, stop)
}

// transcript finds the file of a session that began in dir. When it is not where
// the CLI puts it, for another working copy of a repository or a restored home
// folder, the newest file of that name counts.
func (b *Backend) transcript(session, dir string) (string, bool) {
	projects, err := b.projects()
	if err != nil || !state.ValidSession(session) {
		return "", false
	}
	name := session + ".jsonl"
	if home, err := filepath.EvalSymlinks(dir); err == nil {
		path := filepath.Join(projects, slug(home), name)
		if isFile(path) {
			return path, true
		}
	}
	return newest(projects, name)
}

// newest returns the newest projects/*/name.
func newest(projects, name string) (string, bool) {
	found, err := fs.Glob(os.DirFS(projects), "*/"+name)
	if err != nil {
		return "", false
	}
	var best string
	var at int64
	for _, f := range found {
		path := filepath.Join(projects, filepath.FromSlash(f))
		info, err := os.Lstat(path)
		if err == nil && info.Mode().IsRegular() && info.ModTime().UnixNano() > at {
			best, at = path, info.ModTime().UnixNano()
		}
	}
	return best, best != ""
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// projects is the folder with the transcripts, for the CLI's environment.
func (b *Backend) projects() (string, error) {
	if dir := b.variable("CLAUDE_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, "projects"), nil
	}
	home := b.variable(homeVar)
	if home == "" {
		u, err := user.Current()
		if err != nil {
			return "", err
		}
		home = u.HomeDir
	}
	return filepath.Join(home, ".claude", "projects"), nil
}

// slugSize is how many UTF-16 units of a path the CLI puts into a folder's name
// before it resorts to a hash.
const slugSize = 200

// slug is the CLI's name for the folder of the sessions of a directory.
func slug(dir string) string {
	units := utf16.Encode([]rune(dir))
	name := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash*31 + int32(u)
		name[i] = '-'
		if isAlphanumeric(u) {
			name[i] = byte(u)
		}
	}
	if len(name) <= slugSize {
		return string(name)
	}
	magnitude := int64(hash)
	if magnitude < 0 {
		magnitude = -magnitude
	}
	return string(name[:slugSize]) + "-" + strconv.FormatInt(magnitude, 36)
}

func isAlphanumeric(u uint16) bool {
	return '0' <= u && u <= '9' || 'a' <= u && u <= 'z' || 'A' <= u && u <= 'Z'
}
