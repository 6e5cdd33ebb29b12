// Where Codex keeps its conversations, one file of JSON lines a thread, and what their lines
// say of messages, tokens and refusals. Codex calls them rollouts. Beside them it keeps
// databases, which hold absolute paths and are no part of a conversation: what is here works
// without them.

package codex

import (
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// homeOf is the own folder of a CLI with an environment.
func homeOf(env []string) string { return program.ConfigDir(env, "CODEX_HOME", ".codex") }

// keptOf are the threads of a CLI with an environment, in folders by year, month and day.
func keptOf(env []string) transcripts.Store {
	home := homeOf(env)
	k := transcripts.Store{
		Root: home, FolderPattern: "sessions/*/*/*", FilePattern: func(id string) string { return "rollout-*-" + id + ".jsonl" },
		IsResumable: begins,
		IDInLines:   func(id string) string { return id }, AssignsIDs: true,
		ReadUsage: used, MessageReader: teller,
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

// begins reports whether a line is the one that a rollout begins with, without which it can't be resumed.
func begins(line []byte, truncated bool) bool {
	var l struct {
		Type string `json:"type"`
	}
	return !truncated && json.Unmarshal(line, &l, jsonstrict.Loose) == nil && l.Type == "session_meta"
}
