package claude

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// Limits for reading information about the subagents of a session.
const (
	maxSubagents = 10_000
	maxMeta      = 64 << 10 // size of a metadata file in bytes
	maxName      = 100      // length of a name in bytes
)

// subagent is an agent that a session started with a tool call. The CLI stores its conversation in a
// separate file, path.
type subagent struct{ name, path string }

// subagentsOf returns the subagents of the session with the given transcript, by the ids of the tool
// calls that started them. It doesn't follow symbolic links.
func subagentsOf(path string) map[string]subagent {
	all := map[string]subagent{}
	own := strings.TrimSuffix(path, ".jsonl")
	folder := filepath.Join(own, "subagents")
	if !transcripts.IsFolder(own) || !transcripts.IsFolder(folder) {
		return all
	}
	found := transcripts.Glob(folder, "agent-*.meta.json")
	for _, meta := range found[:min(len(found), maxSubagents)] {
		data, _, err := files.Read(meta, maxMeta)
		if err != nil {
			continue
		}
		var m struct {
			Type        string `json:"agentType"`
			Description string `json:"description"`
			Use         string `json:"toolUseId"`
		}
		if json.Unmarshal(data, &m, jsonstrict.Loose) != nil || m.Use == "" {
			continue
		}
		title := cmp.Or(m.Description, m.Type, "agent")
		all[m.Use] = subagent{name: title[:min(len(title), maxName)], path: strings.TrimSuffix(meta, ".meta.json") + ".jsonl"}
	}
	return all
}
