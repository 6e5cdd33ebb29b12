package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// folder is where the files are that programs may keep conversations in, one for each: those
// of an environment. It is private to the user, and outlives the job's temporary files.
type folder struct{ env []string }

// names are the folders below that of the user's state, so that no other program's files are
// between ours.
var names = []string{"raymond", "conversations"}

// top is the folder of the user's state.
func (d folder) top() (string, error) {
	if dir := program.Variable(d.env, "XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := program.Home(d.env)
	return filepath.Join(home, ".local", "state"), err
}

// fileOf is the name of the file of a conversation. It is not the id, because a program may
// call the conversation as its file is called.
func fileOf(id string) string { return "conversation-" + id + ".jsonl" }

// path returns where the file of a conversation is, or would be.
func (d folder) path(id string) (string, error) {
	if !transcripts.IsUUID(id) {
		return "", fmt.Errorf("the id %q of a session is no UUID in lower case", id)
	}
	top, err := d.top()
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{top}, append(slices.Clone(names), fileOf(id))...)...), nil
}

// open opens the folder, and makes it if need be. Only that of the user's state may be a link.
func (d folder) open() (*os.Root, error) {
	top, err := d.top()
	if err != nil {
		return nil, err
	}
	return transcripts.Enter(top, names...)
}

// install puts the file of a conversation in place.
func (d folder) install(id string, in io.Reader) error {
	if !transcripts.IsUUID(id) {
		return fmt.Errorf("the id %q of a session is no UUID in lower case", id)
	}
	at, err := d.open()
	if err != nil {
		return err
	}
	defer at.Close()
	return transcripts.Install(at, fileOf(id), in)
}

// size returns the size of the file of a conversation, and false when there is none.
func (d folder) size(id string) (int64, bool) {
	path, err := d.path(id)
	if err != nil {
		return 0, false
	}
	return transcripts.Size(path)
}

// prepare puts the file of the order's conversation in place: a new one that is empty, a copy
// of the one that is branched from, or the one that is resumed, cut back as the order says. It
// returns its path.
func (d folder) prepare(o runner.PromptOrder) (string, *runner.Failure) {
	path, err := d.path(o.SessionID)
	if err != nil {
		return "", program.Fatal("file of the conversation: %v", err)
	}
	switch _, isThere := d.size(o.SessionID); {
	case o.Session == state.Branch:
		err = d.branch(o)
	case o.Session != state.Resume || !isThere:
		err = d.install(o.SessionID, bytes.NewReader(nil))
	case o.Cut != nil:
		err = transcripts.CutBack(path, *o.Cut)
	}
	if err != nil {
		return "", program.Fatal("file of the conversation: %v", err)
	}
	return path, nil
}

// removeUnused removes the file of a conversation that the program has written nothing to.
func (d folder) removeUnused(id string) {
	if n, ok := d.size(id); !ok || n > 0 {
		return
	}
	if at, err := d.open(); err == nil {
		_, _ = transcripts.Remove(at, fileOf(id), nil) // one that stays does no harm
		_ = at.Close()
	}
}

// branch copies the file of the conversation that the order branches from.
func (d folder) branch(o runner.PromptOrder) error {
	from, err := d.path(o.From)
	if err != nil {
		return err
	}
	err = transcripts.Bring(from, func(in io.Reader) error { return d.install(o.SessionID, in) })
	if errors.Is(err, fs.ErrNotExist) {
		return d.install(o.SessionID, bytes.NewReader(nil))
	}
	return err
}

// Length implements runner.Transcripts.
func (b *Backend) Length(c runner.Conversation) (int64, bool) { return b.folder().size(c.ID) }

// Usage implements runner.Transcripts: nobody knows what is in the file.
func (b *Backend) Usage(runner.Conversation, int64) ([]state.Usage, bool) { return nil, false }

// Find implements runner.Transcripts. Where a program that does not use the file keeps the
// conversation is not known, and what another machine needs can't be found.
func (b *Backend) Find(c runner.Conversation, dirs []string) (runner.Stored, bool) {
	size, ok := b.Length(c)
	path, err := b.folder().path(c.ID)
	if !ok || size == 0 || err != nil || len(dirs) == 0 {
		return runner.Stored{}, false
	}
	return runner.Stored{Path: path, Size: size, Dir: dirs[0]}, true
}

// Read implements runner.Transcripts. What is in the file is the program's own matter; lines as
// in docs/agent-command.md are messages of theirs, and others are shown as they are.
func (b *Backend) Read(c runner.Conversation, from, to int64, each func(runner.Message) error) error {
	path, err := b.file(c.ID)
	if err != nil {
		return err
	}
	return transcripts.Read(path, from, to, func(at int64, line []byte, truncated bool) error {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		return each(messageOf(at, line, truncated))
	})
}

// Copy implements runner.Transcripts. The program finds the copy by its file, and calls it as
// it has called the conversation. A program that does not use the file keeps its conversations
// where they can't be copied.
func (b *Backend) Copy(c runner.Conversation, length int64, id, _ string) (cliID string, err error) {
	if err := b.copy(c.ID, length, id); err != nil {
		return "", fmt.Errorf("copy conversation %.80q: %w", c.ID, err)
	}
	return c.CLI, nil
}

func (b *Backend) copy(from string, length int64, id string) error {
	path, err := b.file(from)
	if errors.Is(err, fs.ErrNotExist) || length == 0 {
		return runner.ErrCantCopy
	}
	if err != nil {
		return err
	}
	if _, ok := b.folder().size(id); ok {
		return fmt.Errorf("there is a conversation %s already", id)
	}
	return transcripts.BringHead(path, length, func(head io.Reader, size int64) error {
		if size == 0 {
			return errors.New("nothing was said in it until then")
		}
		return b.folder().install(id, head)
	})
}

// file returns the file of a conversation in which there is something. Otherwise the error has
// fs.ErrNotExist in it.
func (b *Backend) file(id string) (string, error) {
	if size, ok := b.folder().size(id); !ok || size == 0 {
		return "", fmt.Errorf("conversation %.80q has no file here: %w", id, fs.ErrNotExist)
	}
	return b.folder().path(id)
}

// Place implements runner.Transcripts.
func (b *Backend) Place(c runner.Conversation, from string) error {
	err := transcripts.Bring(from, func(in io.Reader) error { return b.folder().install(c.ID, in) })
	if err != nil {
		return fmt.Errorf("put transcript of session %q in place: %w", c.ID, err)
	}
	return nil
}

// Clear implements runner.Transcripts.
func (b *Backend) Clear(c runner.Conversation, only *runner.Mark) error {
	if !transcripts.IsUUID(c.ID) {
		return errors.New("clear session: its id is no UUID in lower case")
	}
	if _, ok := b.Length(c); !ok {
		return nil
	}
	at, err := b.folder().open()
	if err != nil {
		return err
	}
	defer at.Close()
	_, err = transcripts.Remove(at, fileOf(c.ID), only)
	return err
}

func (b *Backend) folder() folder { return folder{b.Env} }
