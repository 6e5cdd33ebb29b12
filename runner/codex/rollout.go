// Codex stores each conversation, which it calls a thread, in a file of JSON lines, which it calls
// a rollout. This package reads messages, tokens and denied tool calls only from rollouts. Codex
// also has databases, but these contain absolute paths and do not belong to one conversation.

package codex

import (
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// configDir returns the CLI's configuration folder for the given environment.
func configDir(env []string) string {
	return program.ConfigDir(env, Access.FolderVariable, Access.Folder)
}

// storeOf returns the store with the CLI's threads for the given environment. The folders of
// rollouts are named after the year, the month and the day.
func storeOf(env []string) transcripts.Store {
	home := configDir(env)
	k := transcripts.Store{
		Root: home, FolderPattern: "sessions/*/*/*", FilePattern: func(id string) string { return "rollout-*-" + id + ".jsonl" },
		IsResumable: isFirstLine,
		IDInLines:   func(id string) string { return id }, AssignsIDs: true,
		ReadUsage: usageFrom, MessageReader: messageReader,
	}
	k.PathForResume = func(id, _ string) (string, error) {
		path, _, ok := k.Path(id)
		if !ok {
			return time.Now().Format("sessions/2006/01/02/rollout-2006-01-02T15-04-05-") + id + ".jsonl", nil
		}
		path, err := filepath.Rel(home, path)
		return filepath.ToSlash(path), err
	}
	return k
}

// isFirstLine reports whether a line is the first line of a rollout. The CLI can't resume a thread
// without this line.
func isFirstLine(line []byte, truncated bool) bool {
	var l struct {
		Type string `json:"type"`
	}
	return !truncated && json.Unmarshal(line, &l, jsonstrict.Loose) == nil && l.Type == "session_meta"
}
