// Where Claude Code stores its conversations, one file of JSON lines per session, and what their lines
// say about messages, tokens and costs.

package claude

import (
	"strconv"
	"unicode/utf16"

	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// transcriptsOf returns the transcripts of a CLI that runs with the given environment.
func transcriptsOf(env []string) transcripts.Store {
	config := configFolder(env)
	of := func(dir string) string { return "projects/" + slug(dir) }
	return transcripts.Store{
		Root: config, FolderPattern: "projects/*", FilePattern: func(id string) string { return id + ".jsonl" },
		FoldersOf: func(dir string) []string { return []string{of(transcripts.ResolveLinks(dir)), of(dir)} },
		PathForResume: func(id, dir string) (string, error) {
			return of(transcripts.ResolveLinks(dir)) + "/" + id + ".jsonl", nil
		},
		IsResumable: func(line []byte, _ bool) bool { return typeOf(line) == "user" },
		// In a text, a quotation mark has a backslash before it, so this finds only members of objects.
		IDInLines: func(id string) string { return `"sessionId":"` + id + `"` },
		ReadUsage: readUsage, MessageReader: messageReader,
	}
}

// configFolder returns the CLI's configuration directory in an environment. It may not exist yet.
func configFolder(env []string) string { return program.ConfigDir(env, "CLAUDE_CONFIG_DIR", ".claude") }

// slugSize is how many UTF-16 units of a path the CLI uses for the name of a directory. It shortens a
// longer path and appends a hash.
const slugSize = 200

// slug returns the CLI's name for the directory with the sessions of a working directory.
func slug(dir string) string {
	units := utf16.Encode([]rune(dir))
	name := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash*31 + int32(u)
		name[i] = '-'
		if '0' <= u && u <= '9' || 'a' <= u && u <= 'z' || 'A' <= u && u <= 'Z' {
			name[i] = byte(u)
		}
	}
	if len(name) <= slugSize {
		return string(name)
	}
	return string(name[:slugSize]) + "-" + strconv.FormatInt(max(int64(hash), -int64(hash)), 36)
}
