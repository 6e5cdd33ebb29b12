// Package rollout finds, reads, copies, moves and removes the files in which Codex keeps its
// conversations, one file of JSON lines a thread. Codex calls them rollouts.
//
// Beside them Codex keeps databases, which hold absolute paths and are no part of a
// conversation: what is here works without them. It knows nothing of invocations or runs.
package rollout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// sessions is the folder of all rollouts, in the CLI's own folder; they are in folders by
// year, month and day.
const sessions = "sessions"

// Folder is where a CLI with the environment Env keeps its rollouts. It may be used by any
// number of goroutines. Threads are named by the CLI's own ids.
type Folder struct{ Env []string }

// Home is the CLI's own folder.
func (f Folder) Home() (string, error) {
	if dir := program.Variable(f.Env, "CODEX_HOME"); dir != "" {
		return dir, nil
	}
	home, err := program.Home(f.Env)
	return filepath.Join(home, ".codex"), err
}

// Path returns the rollout of a thread, the newest of several, and false when there is none.
func (f Folder) Path(thread string) (string, bool) {
	home, err := f.Home()
	if err != nil || !transcripts.IsUUID(thread) {
		return "", false
	}
	return transcripts.Newest(filepath.Join(home, sessions), pattern(thread), nil)
}

// Check returns an error if what the CLI would open as the rollout of a thread is none.
func (f Folder) Check(thread string) error {
	home, err := f.Home()
	if err != nil || !transcripts.IsUUID(thread) {
		return nil //nolint:nilerr // then there is none
	}
	return transcripts.OnlyFiles(filepath.Join(home, sessions), pattern(thread))
}

// pattern is what the paths of a thread's rollouts match.
func pattern(thread string) string { return "*/*/*/rollout-*-" + thread + ".jsonl" }

// Length returns the size in bytes of the rollout of a thread, and false when there is none.
func (f Folder) Length(thread string) (int64, bool) {
	path, ok := f.Path(thread)
	if !ok {
		return 0, false
	}
	return transcripts.Size(path)
}

// Find returns the rollout of a thread that another machine needs to resume it. The second
// value is false when there is none, or none that could be resumed.
func (f Folder) Find(thread string, dirs []string) (runner.Stored, bool) {
	path, ok := f.Path(thread)
	if !ok || len(dirs) == 0 {
		return runner.Stored{}, false
	}
	dir, ok := begin(path)
	if !ok {
		return runner.Stored{}, false
	}
	size, ok := transcripts.Size(path)
	stored := runner.Stored{Path: path, Size: size, Dir: dirs[0]}
	for _, d := range dirs {
		if d == dir || transcripts.Resolve(d) == dir {
			stored.Dir = d
			break
		}
	}
	return stored, ok
}

// begin reads the first line of a rollout, without which it can't be resumed: it returns the
// directory that the thread began in.
func begin(path string) (dir string, ok bool) {
	err := transcripts.EachLine(path, 0, func(line []byte, truncated bool) error {
		var l struct {
			Type    string `json:"type"`
			Payload struct {
				Dir string `json:"cwd"`
			} `json:"payload"`
		}
		ok = !truncated && json.Unmarshal(line, &l, tally.Loose) == nil && l.Type == "session_meta"
		dir = l.Payload.Dir
		return transcripts.ErrStop
	})
	return dir, ok && err == nil
}

// Place puts a rollout where the CLI looks for the thread. A file that is there is replaced,
// also by a shorter one. It is complete or not there at all. Links in the place of the folders
// or files are not followed.
func (f Folder) Place(thread, from string) error {
	if !transcripts.IsUUID(thread) {
		return fmt.Errorf("put rollout in place: the id %.80q is no UUID in lower case", thread)
	}
	if err := transcripts.Bring(from, func(in io.Reader) error { return f.install(thread, in) }); err != nil {
		return fmt.Errorf("put rollout of thread %s in place: %w", thread, err)
	}
	return nil
}

// Branch puts a copy of the rollout of a thread in place as that of another one. The CLI's own
// branches only refer to the thread that they come from, and can't be resumed without it.
func (f Folder) Branch(from, to string) error { return f.copy(from, -1, to) }

// Copy is Branch for the first length bytes of the rollout, without a line that they cut, or
// for all when length < 0, and for a thread that is not there yet. The error has fs.ErrNotExist
// in it when there are fewer bytes.
func (f Folder) Copy(from string, length int64, to string) error {
	if _, ok := f.Path(to); ok {
		return fmt.Errorf("copy: there is a thread %s already", to)
	}
	return f.copy(from, length, to)
}

func (f Folder) copy(from string, length int64, to string) error {
	path, ok := f.Path(from)
	if !ok {
		return gone(from)
	}
	if !transcripts.IsUUID(to) {
		return fmt.Errorf("copy: the id %.80q is no UUID in lower case", to)
	}
	return transcripts.BringHead(path, length, func(head io.Reader, size int64) error {
		if _, ok := begin(path); !ok || size == 0 {
			return fmt.Errorf("copy: nothing was said in thread %s until then", from)
		}
		return f.install(to, transcripts.Renamed(head, from, to))
	})
}

// install makes what in brings the rollout of a thread.
func (f Folder) install(thread string, in io.Reader) error {
	home, err := f.Home()
	if err != nil {
		return err
	}
	at := time.Now().Format("2006/01/02/rollout-2006-01-02T15-04-05-") + thread + ".jsonl"
	if there, ok := f.Path(thread); ok {
		if at, err = filepath.Rel(filepath.Join(home, sessions), there); err != nil {
			return err
		}
	}
	names := strings.Split(filepath.ToSlash(at), "/")
	folder, err := transcripts.Enter(home, append([]string{sessions}, names[:3]...)...)
	if err != nil {
		return err
	}
	defer folder.Close()
	return transcripts.Install(folder, names[3], in)
}

// Clear removes the rollouts of a thread; with a mark it removes only a file of that mark. What
// is not there is no error.
func (f Folder) Clear(thread string, only *runner.Mark) error {
	if !transcripts.IsUUID(thread) {
		return errors.New("clear thread: its id is no UUID in lower case")
	}
	home, err := f.Home()
	if err != nil {
		return err
	}
	found, err := fs.Glob(os.DirFS(filepath.Join(home, sessions)), "*/*/*/rollout-*-"+thread+".jsonl")
	for _, at := range found {
		names := append([]string{sessions}, strings.Split(at, "/")...)
		last := len(names) - 1
		folder, oops := transcripts.Open(home, names[:last]...)
		if oops != nil {
			continue // what a link leads to is left alone, and it may be gone
		}
		_, oops = transcripts.Remove(folder, names[last], only)
		err = errors.Join(err, oops, folder.Close())
	}
	return err
}
