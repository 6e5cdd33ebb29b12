package transcript

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// Copy puts a copy of the beginning of a transcript in place as that of the session id, which
// the CLI then resumes in dir, as runner.Transcripts says.
func (d Folder) Copy(c runner.Conversation, length int64, id, dir string) error {
	if err := d.copy(c, length, id, dir); err != nil {
		return fmt.Errorf("copy session %.80q: %w", c.ID, err)
	}
	return nil
}

func (d Folder) copy(c runner.Conversation, length int64, id, dir string) error {
	path, ok := d.Path(c.ID, c.Dir)
	if !ok {
		return gone(c.ID)
	}
	if !transcripts.IsUUID(c.ID) || !transcripts.IsUUID(id) || c.ID == id {
		return errors.New("want two different UUIDs in lower case")
	}
	return transcripts.BringHead(path, length, func(head io.Reader, size int64) error {
		if ok, err := holdsPrompt(path, size); err != nil || !ok {
			return errors.Join(err, errors.New("nothing was said in it until then"))
		}
		folder, err := d.folder(transcripts.Resolve(dir))
		if err != nil {
			return err
		}
		defer folder.Close()
		if _, err := folder.Lstat(id + ".jsonl"); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("there is a session %s already", id)
		}
		// A quotation mark within a text has a backslash before it: only members are renamed.
		return transcripts.Install(folder, id+".jsonl", transcripts.Renamed(head, `"sessionId":"`+c.ID+`"`, `"sessionId":"`+id+`"`))
	})
}
