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

// conversations are the files that programs may keep conversations in, one for each. They are private to the user, and
// outlive the job's temporary files.
type conversations struct{ transcripts.Store }

// Transcripts are the conversations of programs. What is in their files is the programs' own matter; those of a program that does
// not use them are not known, and can't be found, read or copied.
func (b *Backend) Transcripts() runner.Transcripts { return b.files() }

func (b *Backend) files() conversations {
	const folder = "raymond/conversations/"
	// A program may call the conversation as its file is called: that is not the id.
	name := func(id string) string { return "conversation-" + id + ".jsonl" }
	return conversations{transcripts.Store{
		Root: userState(b.Env), FolderPattern: folder[:len(folder)-1], FilePattern: name,
		PathForResume: func(id, _ string) (string, error) { return folder + name(id), nil },
		IsResumable:   func([]byte, bool) bool { return true },
		ReadUsage:     func(string, int64) ([]state.Usage, error) { return nil, nil },
		MessageReader: teller,
	}}
}

// userState is the folder of the user's state; "" when nobody knows it.
func userState(env []string) string {
	if dir := program.Variable(env, "XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home := program.Home(env); home != "" {
		return filepath.Join(home, ".local", "state")
	}
	return ""
}

// Copy implements runner.Transcripts. The program finds the copy by its file, and calls it as it has called the conversation.
func (k conversations) Copy(c runner.Conversation, length int64, id, dir string) (cliID string, err error) {
	if size, _ := k.Length(c); size == 0 || length == 0 {
		return "", runner.ErrCantCopy
	}
	_, err = k.Store.Copy(c, length, id, dir)
	return c.CLI, err
}

// prepare puts the file of the order's conversation in place: a new one that is empty, a copy
// of the one that is branched from, or the one that is resumed, cut back as the order says. It
// returns its path.
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
		return "", program.Fatal("file of the conversation: %v", err)
	}
	path, _, _ = k.Path(o.SessionID)
	return path, nil
}
