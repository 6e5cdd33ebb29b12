package transcript

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// Stored is a transcript on disk.
type Stored struct {
	Path string // of a regular file
	Size int64  // bytes it has now; it may grow, and is never changed within them
	Dir  string // absolute; the conversation was held there
}

// Find returns what another machine needs to resume a session that was
// held in one of the directories, the most likely first: its transcript. It is
// looked for where the CLI keeps those of each directory, then anywhere under its
// folder. Dir is the directory that the place is of, or else the first one. The
// second value is false when there is none, and for one without any prompt: the
// CLI can neither resume such a session nor begin it again.
func (d Folder) Find(session string, dirs []string) (Stored, bool) {
	if !isUUID(session) || len(dirs) == 0 {
		return Stored{}, false
	}
	s, ok := d.find(session, dirs)
	if !ok {
		return Stored{}, false
	}
	if ok, err := HoldsPrompt(s.Path); err != nil || !ok {
		return Stored{}, false
	}
	// After the search, so that the prompt is within the size.
	info, err := os.Lstat(s.Path)
	if err != nil || !info.Mode().IsRegular() {
		return Stored{}, false
	}
	s.Size = info.Size()
	return s, true
}

func (d Folder) find(session string, dirs []string) (Stored, bool) {
	projects, err := d.projects()
	if err != nil {
		return Stored{}, false
	}
	for _, dir := range dirs {
		for _, folder := range []string{slug(resolve(dir)), slug(dir)} {
			path := filepath.Join(projects, folder, session+".jsonl")
			if isFile(path) {
				return Stored{Path: path, Dir: dir}, true
			}
		}
	}
	path, ok := newest(projects, session+".jsonl")
	return Stored{Path: path, Dir: dirs[0]}, ok
}

// Place puts a transcript where the CLI looks for the session when it resumes it
// in dir. A file that is there is replaced, also by a shorter one: what is being
// restored is a state as of a certain moment, and what was said later never
// happened. The file is complete or not there at all, has mode 0600 and is as
// good as new, since the CLI deletes transcripts that are 30 days old. A
// transcript without any prompt is of no use to the CLI and is not put there,
// which is no error. Links in the place of the folders or files are not followed.
func (d Folder) Place(session, dir, from string) error {
	if err := d.place(session, dir, from); err != nil {
		return fmt.Errorf("put transcript of session %q in place: %w", session, err)
	}
	return nil
}

func (d Folder) place(session, dir, from string) error {
	if !isUUID(session) {
		return errors.New("its id is no UUID in lower case")
	}
	if ok, err := HoldsPrompt(from); err != nil || !ok {
		return err
	}
	in, _, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	folder, err := d.folder(resolve(dir))
	if err != nil {
		return err
	}
	defer folder.Close()
	return install(folder, session+".jsonl", in)
}

// folder opens the folder of the sessions of a directory, and makes it if need be.
// Only the CLI's own folder may be a link: that is a matter of the machine's
// owner, while what is in it could be an agent's.
func (d Folder) folder(dir string) (*os.Root, error) {
	projects, err := d.projects()
	if err != nil {
		return nil, err
	}
	config := filepath.Dir(projects)
	if err := os.MkdirAll(config, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(config)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	top, err := enter(root, filepath.Base(projects))
	if err != nil {
		return nil, err
	}
	defer top.Close()
	return enter(top, slug(dir))
}

// enter opens a folder in another one, and makes it if need be.
func enter(parent *os.Root, name string) (*os.Root, error) {
	if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return open(parent, name)
}

// open opens a folder in another one. Neither may be a link.
func open(parent *os.Root, name string) (*os.Root, error) {
	info, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	odd := &os.PathError{Op: "open", Path: filepath.Join(parent.Name(), name), Err: errors.New("it is no folder of its own")}
	if !info.IsDir() {
		return nil, odd
	}
	child, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	// A link may have taken the folder's place since.
	now, err := child.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = odd
	}
	if err != nil {
		return nil, errors.Join(err, child.Close())
	}
	return child, nil
}

// install writes a file under another name and renames it.
func install(folder *os.Root, name string, in io.Reader) error {
	tmp := "." + name + "." + rand.Text()
	out, err := folder.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Sync(), out.Close())
	if err == nil {
		err = folder.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, folder.Remove(tmp))
	}
	return nil
}

// resolve returns the path of a directory as the CLI sees it, without links; of
// one that is not there yet, as far as it is.
func resolve(dir string) string {
	if whole, err := filepath.EvalSymlinks(dir); err == nil {
		return whole
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir
	}
	return filepath.Join(resolve(parent), filepath.Base(dir))
}

var uuidForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)
})

func isUUID(s string) bool { return uuidForm().MatchString(s) }
