// This file describes where Claude Code stores its conversations. Each session is a file of JSON lines.
// The lines contain messages, tokens and costs.

package claude

import (
	"strconv"
	"unicode/utf16"

	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// transcriptsOf returns the store of the transcripts of a CLI that runs with the given environment.
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
		// Inside a JSON string, each quotation mark follows a backslash. Therefore this text occurs only as a
		// member of an object.
		IDInLines: func(id string) string { return `"sessionId":"` + id + `"` },
		ReadUsage: readUsage, MessageReader: messageReader,
	}
}

// configFolder returns the CLI's configuration directory in an environment. The directory may not exist
// yet.
func configFolder(env []string) string {
	return program.ConfigDir(env, Access.FolderVariable, Access.Folder)
}

// slugSize is the maximum number of UTF-16 units of a path that the CLI uses in the name of a directory.
// If a path is longer, the CLI truncates it and appends a hash.
const slugSize = 200

// slug returns the name of the directory in which the CLI stores the sessions of a working directory.
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
