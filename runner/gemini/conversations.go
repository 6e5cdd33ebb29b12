package gemini

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// A conversation is a file of JSON lines in the chats folder of the directory in which it is
// held. Its name ends with the first part of the conversation's id; the whole id is in its first
// line. The CLI only ever adds lines.

// chats is the folder of a directory's conversations.
func (h home) chats(dir string) string { return h.ours("tmp", slug(transcripts.Resolve(dir)), "chats") }

// pattern is what the names of a conversation's files match.
func pattern(id string) string { return "session-*-" + id[:8] + ".jsonl" }

// fileName is the name that a file of ours gets. The CLI puts the time there.
func fileName(id string) string { return "session-2000-01-01T00-00-" + id[:8] + ".jsonl" }

// find returns the file of a conversation that was held in one of the directories, or else
// anywhere, and which of the directories that was; the first one when it was none of them.
func (h home) find(id string, dirs ...string) (path, dir string, ok bool) {
	if !transcripts.IsUUID(id) || len(dirs) == 0 {
		return "", "", false
	}
	isIts := func(path string) bool { return idOf(path) == id }
	for _, dir := range dirs {
		if path, ok := transcripts.Newest(h.chats(dir), pattern(id), isIts); ok {
			return path, dir, true
		}
	}
	path, ok = transcripts.Newest(h.ours("tmp"), "*/chats/"+pattern(id), isIts)
	return path, dirs[0], ok
}

// begin is the first line of a conversation.
type begin struct {
	ID string `json:"sessionId"`
}

// longestBegin is how long that line may be, in bytes.
const longestBegin = 64 << 10

// idOf returns the id of the conversation that a file has; "" when it tells none.
func idOf(path string) string {
	f, _, err := files.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := firstLine(f)
	var b begin
	_ = json.Unmarshal(line, &b) // the id is "" then
	return b.ID
}

// firstLine reads the first line, without its end. What is left to read follows it.
func firstLine(r io.Reader) (line []byte, rest *bufio.Reader) {
	rest = bufio.NewReaderSize(r, longestBegin)
	line, err := rest.ReadSlice('\n')
	if err != nil {
		return nil, rest
	}
	return bytes.Clone(bytes.TrimSuffix(line, []byte("\n"))), rest
}

// holdsPrompt reports whether a conversation can be resumed: the CLI can't resume one in which
// nobody has said anything.
func holdsPrompt(path string) (bool, error) { return holdsPromptIn(path, math.MaxInt64) }

// holdsPromptIn is holdsPrompt for the first length bytes.
func holdsPromptIn(path string, length int64) (bool, error) {
	return transcripts.Holds(path, length, func(line []byte, truncated bool) bool {
		var m said
		return truncated || json.Unmarshal(line, &m) == nil && m.isSaid()
	})
}

// place makes a file the only one of a conversation in a directory, as the CLI finds it there.
func (h home) place(id, dir string, in io.Reader) error {
	if _, err := h.prepare(dir); err != nil {
		return err
	}
	chats, err := transcripts.Enter(h.ours(), "tmp", slug(transcripts.Resolve(dir)), "chats")
	if err != nil {
		return err
	}
	defer chats.Close()
	if err := remove(chats, id, nil); err != nil {
		return err
	}
	return transcripts.Install(chats, fileName(id), in)
}

// remove removes the files of a conversation from a folder; with a mark, only those that have it.
func remove(chats *os.Root, id string, only *runner.Mark) error {
	found, err := fs.Glob(chats.FS(), pattern(id))
	for _, name := range found {
		if idOf(filepath.Join(chats.Name(), name)) != id {
			continue
		}
		_, oops := transcripts.Remove(chats, name, only)
		err = errors.Join(err, oops)
	}
	return err
}

// branch makes a copy of a conversation, under an id of its own.
func (h home) branch(from, id, dir string) error {
	return h.copy(runner.Conversation{ID: from, Dir: dir}, -1, id, dir)
}

// copy makes a copy of the first length bytes of a conversation, without a line that they cut, under
// an id of its own and for another directory; length < 0 copies all. The error has fs.ErrNotExist in it when there are fewer bytes.
func (h home) copy(c runner.Conversation, length int64, id, dir string) error {
	path, _, ok := h.find(c.ID, c.Dir)
	if !ok {
		return gone(c.ID)
	}
	return transcripts.BringHead(path, length, func(head io.Reader, size int64) error {
		if ok, err := holdsPromptIn(path, size); err != nil || !ok {
			return errors.Join(err, fmt.Errorf("nothing was said in conversation %s until then", c.ID))
		}
		// The CLI notes the id again each time that it resumes. A quotation mark within a text has a
		// backslash before it: only members are renamed.
		return h.place(id, dir, transcripts.Renamed(head, `"sessionId":"`+c.ID+`"`, `"sessionId":"`+id+`"`))
	})
}

// gone is the error of a conversation without a transcript.
func gone(id string) error {
	return fmt.Errorf("conversation %.80q has no transcript here: %w", id, fs.ErrNotExist)
}

// complete ends the last line of a conversation, which may have been cut off: the CLI would add to
// it.
func complete(path string) error {
	f, info, err := files.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return nil
	}
	_, err = f.WriteAt([]byte("\n"), info.Size())
	return err
}

// move copies a conversation into the folder of a directory. What is in other folders stays.
func (h home) move(id, path, dir string) error {
	return transcripts.Bring(path, func(in io.Reader) error { return h.place(id, dir, in) })
}
