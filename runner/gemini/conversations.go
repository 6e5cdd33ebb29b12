package gemini

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// The CLI stores each conversation in a file of JSON lines, in the folder "chats" of its working
// directory's folder. The file name ends with the first eight characters of the conversation's id,
// and the first line contains the complete id. The CLI only appends lines.

// chatsDir returns the folder for conversations held in dir, relative to the CLI's configuration
// folder.
func chatsDir(dir string) string { return "tmp/" + dirName(transcripts.ResolveLinks(dir)) + "/chats" }

// store returns the store with the conversations in this home.
func (h home) store() transcripts.Store {
	k := transcripts.Store{
		Root: h.cliPath(), FolderPattern: "tmp/*/chats", FilePattern: func(id string) string { return "session-*-" + id[:8] + ".jsonl" },
		IsFileOf:  func(path, id string) bool { return idOf(path) == id },
		FoldersOf: func(dir string) []string { return []string{chatsDir(dir)} },
		// The CLI can't resume a conversation without a message of a user or of the model.
		IsResumable: func(line []byte, truncated bool) bool {
			var m message
			return truncated || json.Unmarshal(line, &m) == nil && m.isConversation()
		},
		// The CLI writes the id again each time it resumes the conversation. In texts, the
		// quotation marks would be escaped, so this text only matches members of JSON objects.
		IDInLines: func(id string) string { return `"sessionId":"` + id + `"` },
		ReadUsage: usageFrom, MessageReader: messageReader,
	}
	k.PathForResume = func(id, dir string) (string, error) {
		if _, err := h.prepare(dir); err != nil {
			return "", err
		}
		name := "session-2000-01-01T00-00-" + id[:8] + ".jsonl" // the CLI would put the current time into the name
		if path, _, ok := k.Path(id, dir); ok && filepath.Dir(path) == h.cliPath(chatsDir(dir)) {
			name = filepath.Base(path)
		}
		return chatsDir(dir) + "/" + name, nil
	}
	return k
}

// maxFirstLine is the maximum length of the first line in bytes.
const maxFirstLine = 64 << 10

// idOf returns the id of the conversation that a transcript contains, or "" if its first line is
// not valid.
func idOf(path string) string {
	f, _, err := files.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, maxFirstLine).ReadSlice('\n')
	var b struct {
		ID string `json:"sessionId"`
	}
	if err != nil || json.Unmarshal(line, &b) != nil {
		return ""
	}
	return b.ID
}

// endLastLine adds a line break to a transcript that does not end with one, because it was
// truncated. Otherwise, the CLI would append to the incomplete line.
func endLastLine(path string) error {
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
