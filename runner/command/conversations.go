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

// conversations are the files in which agent commands may keep their conversations, one file each.
// They are private to the user and outlive the job's temporary files.
type conversations struct{ transcripts.Store }

// Transcripts returns the conversation files. Only the program knows their contents. If a program
// keeps its conversations elsewhere, raymond can't find, read or copy them.
func (b *Backend) Transcripts() runner.Transcripts { return b.files() }

func (b *Backend) files() conversations {
	const folder = "raymond/conversations/"
	// A program may use the file's name as its own session id. The prefix makes that differ from id.
	name := func(id string) string { return "conversation-" + id + ".jsonl" }
	return conversations{transcripts.Store{
		Root: userState(b.Env), FolderPattern: folder[:len(folder)-1], FilePattern: name,
		PathForResume: func(id, _ string) (string, error) { return folder + name(id), nil },
		IsResumable:   func([]byte, bool) bool { return true },
		ReadUsage:     func(string, int64) ([]state.Usage, error) { return nil, nil },
		MessageReader: messageReader,
	}}
}

// userState returns the directory for state files of the user; "" if it is unknown.
func userState(env []string) string {
	if dir := program.Variable(env, "XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home := program.Home(env); home != "" {
		return filepath.Join(home, ".local", "state")
	}
	return ""
}

// Copy implements runner.Transcripts. The copy keeps the program's own session id, because the
// program finds the conversation by its file.
func (k conversations) Copy(c runner.Conversation, length int64, id, dir string) (cliID string, err error) {
	if size, _ := k.Length(c); size == 0 || length == 0 {
		return "", runner.ErrCantCopy
	}
	_, err = k.Store.Copy(c, length, id, dir)
	return c.CLI, err
}

// prepare creates the file of the order's conversation and returns its path. A fresh conversation
// gets an empty file, a branch gets a copy, and a resumed conversation keeps its file, cut back to
// o.Cut bytes.
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
