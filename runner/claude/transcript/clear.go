package transcript

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// Clear removes what the CLI keeps of a session: its transcript in the folder of
// any directory, and the folder of its name beside it, in which subagents and long
// outputs of tools are. With a mark it removes only a file of that mark, and leaves
// everything where there is another one. What is not there is no error, and what is
// neither a regular file nor a folder of its own is left alone.
func (d Folder) Clear(session string, only *runner.Mark) error {
	if !transcripts.IsUUID(session) {
		return errors.New("clear session: its id is no UUID in lower case")
	}
	folders, err := d.folders()
	defer func() {
		for _, f := range folders {
			_ = f.Close() // nothing was written through it
		}
	}()
	if err != nil {
		return err
	}
	another := false
	for _, f := range folders {
		isOther, err := transcripts.Remove(f, session+".jsonl", only)
		if err != nil {
			return err
		}
		another = another || isOther
	}
	if another {
		return nil
	}
	for _, f := range folders {
		if info, err := f.Lstat(session); err == nil && info.IsDir() {
			if err := f.RemoveAll(session); err != nil {
				return err
			}
		}
	}
	return nil
}

// folders opens the folders of the sessions of all directories. Links among them
// are passed over.
func (d Folder) folders() ([]*os.Root, error) {
	projects, err := d.Projects()
	if err != nil {
		return nil, err
	}
	config, name := filepath.Dir(projects), filepath.Base(projects)
	top, err := transcripts.Open(config, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer top.Close()
	list, err := fs.ReadDir(top.FS(), ".")
	if err != nil {
		return nil, err
	}
	var out []*os.Root
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		if f, err := transcripts.Open(config, name, e.Name()); err == nil {
			out = append(out, f)
		}
	}
	return out, nil
}
