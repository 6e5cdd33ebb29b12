package gemini

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// A conversation is a file of JSON lines in the chats folder of the directory in which it is
// held. Its name ends with the first part of the conversation's id; the whole id is in its first
// line. The CLI only ever adds lines.

// chats is the folder of a directory's conversations, in the CLI's own one.
func chats(dir string) string { return "tmp/" + slug(transcripts.ResolveLinks(dir)) + "/chats" }

// kept are the conversations of the home.
func (h home) kept() transcripts.Store {
	k := transcripts.Store{
		Root: h.ours(), FolderPattern: "tmp/*/chats", FilePattern: func(id string) string { return "session-*-" + id[:8] + ".jsonl" },
		IsFileOf:    func(path, id string) bool { return idOf(path) == id },
		FoldersOf:   func(dir string) []string { return []string{chats(dir)} },
		IsResumable: isSaid,
		// The CLI notes the id again each time that it resumes. A quotation mark within a text has a
		// backslash before it: only members are renamed.
		IDInLines: func(id string) string { return `"sessionId":"` + id + `"` },
		ReadUsage: used, MessageReader: tellerOf,
	}
	k.PathForResume = func(id, dir string) (string, error) {
		if _, err := h.prepare(dir); err != nil {
			return "", err
		}
		name := "session-2000-01-01T00-00-" + id[:8] + ".jsonl" // the CLI puts the time there
		if path, _, ok := k.Path(id, dir); ok && filepath.Dir(path) == h.ours(chats(dir)) {
			name = filepath.Base(path)
		}
		return chats(dir) + "/" + name, nil
	}
	return k
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
	line, err := bufio.NewReaderSize(f, longestBegin).ReadSlice('\n')
	var b begin
	if err != nil || json.Unmarshal(line, &b) != nil {
		return ""
	}
	return b.ID
}

// isSaid reports whether somebody has said something in a line: the CLI can't resume a conversation in which nobody has.
func isSaid(line []byte, truncated bool) bool {
	var m said
	return truncated || json.Unmarshal(line, &m) == nil && m.isSaid()
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
