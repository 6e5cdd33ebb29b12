package transcript

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// Find returns what another machine needs to resume a session that was
// held in one of the directories, the most likely first: its transcript. It is
// looked for where the CLI keeps those of each directory, then anywhere under its
// folder. Dir is the directory that the place is of, or else the first one. The
// second value is false when there is none, and for one without any prompt: the
// CLI can neither resume such a session nor begin it again.
func (d Folder) Find(session string, dirs []string) (runner.Stored, bool) {
	if !transcripts.IsUUID(session) || len(dirs) == 0 {
		return runner.Stored{}, false
	}
	s, ok := d.find(session, dirs)
	if !ok {
		return runner.Stored{}, false
	}
	if ok, err := HoldsPrompt(s.Path); err != nil || !ok {
		return runner.Stored{}, false
	}
	// After the search, so that the prompt is within the size.
	if s.Size, ok = transcripts.Size(s.Path); !ok {
		return runner.Stored{}, false
	}
	return s, true
}

func (d Folder) find(session string, dirs []string) (runner.Stored, bool) {
	projects, err := d.Projects()
	if err != nil {
		return runner.Stored{}, false
	}
	for _, dir := range dirs {
		for _, folder := range []string{slug(transcripts.Resolve(dir)), slug(dir)} {
			path := filepath.Join(projects, folder, session+".jsonl")
			if transcripts.IsFile(path) {
				return runner.Stored{Path: path, Dir: dir}, true
			}
		}
	}
	path, ok := transcripts.Newest(projects, "*/"+session+".jsonl", nil)
	return runner.Stored{Path: path, Dir: dirs[0]}, ok
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
	if !transcripts.IsUUID(session) {
		return errors.New("its id is no UUID in lower case")
	}
	if ok, err := HoldsPrompt(from); err != nil || !ok {
		return err
	}
	return transcripts.Bring(from, func(in io.Reader) error {
		folder, err := d.folder(transcripts.Resolve(dir))
		if err != nil {
			return err
		}
		defer folder.Close()
		return transcripts.Install(folder, session+".jsonl", in)
	})
}

// folder opens the folder of the sessions of a directory, and makes it if need be.
// Only the CLI's own folder may be a link: that is a matter of the machine's
// owner, while what is in it could be an agent's.
func (d Folder) folder(dir string) (*os.Root, error) {
	projects, err := d.Projects()
	if err != nil {
		return nil, err
	}
	return transcripts.Enter(filepath.Dir(projects), filepath.Base(projects), slug(dir))
}
