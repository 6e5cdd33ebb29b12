// Codex stores each conversation ("thread") in a file of JSON lines, which it calls a rollout. This
// package reads messages, tokens and refusals from rollouts alone: Codex also keeps databases, but
// they contain absolute paths and are not part of a conversation.

package codex

import (
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// configDir returns the CLI's configuration folder for an environment.
func configDir(env []string) string { return program.ConfigDir(env, "CODEX_HOME", ".codex") }

// storeOf returns the threads of the CLI for an environment. Their folders are named after year,
// month and day.
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

// isFirstLine reports whether a line is the first line of a rollout, without which it can't be
// resumed.
func isFirstLine(line []byte, truncated bool) bool {
	var l struct {
		Type string `json:"type"`
	}
	return !truncated && json.Unmarshal(line, &l, jsonstrict.Loose) == nil && l.Type == "session_meta"
}
