// This file describes where Claude Code stores its conversations. Each session is a file of JSON lines.
// The lines contain messages, tokens and costs.

package claude

import (
	"strconv"
	"unicode/utf16"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
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

// synthetic is the model name in messages that the CLI itself has written, for example about errors.
const synthetic = "<synthetic>"

// readUsage returns the tokens in a transcript, by model without a variant like "[1m]". It skips the bytes
// before the offset from. The CLI writes a line for each part of a message. Each message is counted once,
// with the numbers in its last line.
func readUsage(path string, from int64) ([]state.Usage, error) {
	return transcripts.SumUsage(path, from, func(line []byte) (string, state.Usage, bool) {
		var m struct {
			Type    string `json:"type"`
			Message answer `json:"message"`
		}
		if json.Unmarshal(line, &m, jsonstrict.Loose) != nil || m.Type != "assistant" || m.Message.Model == synthetic {
			return "", state.Usage{}, false
		}
		return m.Message.ID, usageOf(m.Message.Usage, m.Message.Model), true
	})
}

// Words are words that occur in the CLI's transcripts. They must not be masked as secrets, because then
// the CLI could not read the transcripts any more.
const Words = `assistant message content tool_use tool_result tool_use_id thinking redacted_thinking signature text_delta
	parentUuid logicalParentUuid isSidechain userType external sessionId session_id version gitBranch requestId timestamp
	toolUseResult queue-operation operation enqueue dequeue summary leafUuid file-history-snapshot messageId snapshot attachment
	stop_reason stop_sequence end_turn max_tokens input_tokens output_tokens cache_creation cache_creation_input_tokens
	cache_read_input_tokens ephemeral_5m_input_tokens ephemeral_1h_input_tokens service_tier standard server_tool_use
	isApiErrorMessage isCompactSummary isVisibleInTranscriptOnly compact_boundary compactMetadata permissionMode promptId entrypoint sdk-cli
	last-prompt lastPrompt parent_tool_use_id ai-title inference_geo web_search_requests web_fetch_requests iterations`
