package command

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// conversations is the store of the files in which agent commands may store their conversations, one
// file for each conversation. The files are private to the user and are not deleted with the job's
// temporary files.
type conversations struct{ transcripts.Store }

// Transcripts returns the store of the conversation files. Only the program knows the format of its
// file. If the program stores its conversations elsewhere, raymond can't find, read or copy them.
func (b *Backend) Transcripts() runner.Transcripts { return b.files() }

// files returns the store of the conversation files.
func (b *Backend) files() conversations {
	// The directory for the user's state files may be unknown.
	root := program.Variable(b.Env, "XDG_STATE_HOME")
	if !filepath.IsAbs(root) {
		root = ""
		if home := program.Home(b.Env); home != "" {
			root = filepath.Join(home, ".local", "state")
		}
	}
	const folder = "raymond/conversations/"
	// A program may use the name of the file as its own session id. The prefix makes that id differ from
	// raymond's id.
	name := func(id string) string { return "conversation-" + id + ".jsonl" }
	return conversations{transcripts.Store{
		Root: root, FolderPattern: folder[:len(folder)-1], FilePattern: name,
		PathForResume: func(id, _ string) (string, error) { return folder + name(id), nil },
		IsResumable:   func([]byte, bool) bool { return true },
		ReadUsage:     func(string, int64) ([]state.Usage, error) { return nil, nil },
		MessageReader: messageReader,
	}}
}

// Copy implements runner.Transcripts. The program's own session id stays the same in the copy, because the
// program finds the conversation by its file. If the file is empty, Copy returns runner.ErrCantCopy.
func (k conversations) Copy(c runner.Conversation, length int64, id, dir string) (cliID string, err error) {
	if size, _ := k.Length(c); size == 0 || length == 0 {
		return "", runner.ErrCantCopy
	}
	_, err = k.Store.Copy(c, length, id, dir)
	return c.CLI, err
}

// prepare returns the path of the order's conversation file, after it has prepared that file. For a new
// conversation, it creates an empty file. For a branch, it copies the file of the other conversation.
// For a resumed conversation, it keeps the file, and truncates it to o.Cut bytes if o.Cut is set.
func (k conversations) prepare(o runner.PromptOrder) (path string, _ *runner.Failure) {
	path, _, isThere := k.Path(o.SessionID)
	err := fs.ErrNotExist
	switch {
	case o.Session == state.Branch:
		if err = k.Check(o.From); err == nil {
			err = k.Branch(runner.Conversation{ID: o.From}, -1, o.SessionID, "")
		}
	case o.Session == state.Resume && isThere:
		err = nil
		if o.Cut != nil {
			err = transcripts.TruncateFile(path, *o.Cut)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = k.Install(o.SessionID, "", bytes.NewReader(nil))
	}
	if err != nil {
		return "", program.Fatal("prepare the conversation file: %v", err)
	}
	path, _, _ = k.Path(o.SessionID)
	return path, nil
}
