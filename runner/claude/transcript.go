// Where Claude Code keeps its conversations, one file of JSON lines a session, and what their
// lines say of messages, tokens and costs.

package claude

import (
	"strconv"
	"unicode/utf16"

	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// keptOf are the conversations of a CLI with an environment.
func keptOf(env []string) transcripts.Store {
	config := configFolder(env)
	of := func(dir string) string { return "projects/" + slug(dir) }
	return transcripts.Store{
		Root: config, FolderPattern: "projects/*", FilePattern: func(id string) string { return id + ".jsonl" },
		FoldersOf: func(dir string) []string { return []string{of(transcripts.ResolveLinks(dir)), of(dir)} },
		PathForResume: func(id, dir string) (string, error) {
			return of(transcripts.ResolveLinks(dir)) + "/" + id + ".jsonl", nil
		},
		IsResumable: func(line []byte, _ bool) bool { return typeOf(line) == "user" },
		// A quotation mark within a text has a backslash before it: only members are renamed.
		IDInLines: func(id string) string { return `"sessionId":"` + id + `"` },
		ReadUsage: used, MessageReader: teller,
	}
}

// configFolder returns the own folder of a CLI with an environment, which may not be there yet.
func configFolder(env []string) string { return program.ConfigDir(env, "CLAUDE_CONFIG_DIR", ".claude") }

// slugSize is how many UTF-16 units of a path the CLI puts into a folder's name
// before it resorts to a hash.
const slugSize = 200

// slug is the CLI's name for the folder of the sessions of a directory.
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
