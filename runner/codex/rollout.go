// Codex stores each conversation, which it calls a thread, in a file of JSON lines, which it calls
// a rollout. This package reads messages, tokens and denied tool calls only from rollouts. Codex
// also has databases, but these contain absolute paths and do not belong to one conversation.

package codex

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
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
		// The CLI can't resume a thread without the first line of the rollout.
		IsResumable: func(line []byte, truncated bool) bool {
			var l struct {
				Type string `json:"type"`
			}
			return !truncated && json.Unmarshal(line, &l, jsonstrict.Loose) == nil && l.Type == "session_meta"
		},
		IDInLines: func(id string) string { return id }, AssignsIDs: true,
		ReadUsage: usageFrom,
		MessageReader: func(string) transcripts.MessageReader {
			return transcripts.MessageReader{LineHandler: func(feed *transcripts.Feed) func([]byte, runner.Message) error {
				return (&rolloutReader{feed: feed}).line
			}}
		},
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

// cliLayout describes how the CLI counts tokens. The input includes the tokens that were read from
// the cache or written to it.
var cliLayout = keyproxy.Layout{
	Input: []string{"input_tokens"}, Output: []string{"output_tokens"},
	CacheRead: "cached_input_tokens", CacheWrite: "cache_write_input_tokens", InputIncludesCache: true,
}

// threadUsage contains the tokens that a thread has used up to some line of its rollout.
type threadUsage struct {
	Total state.Usage // running total, which continues in a branch
	Model string      // model of the last request; empty before the first one
}

// usageLine is a line of a rollout, reduced to the fields needed to count tokens.
type usageLine struct {
	Type    string `json:"type"`
	Payload struct {
		Type  string `json:"type"`
		Model string `json:"model"` // in a turn_context
		Info  struct {
			Total jsontext.Value `json:"total_token_usage"`
		} `json:"info"` // in a token_count
	} `json:"payload"`
}

const (
	maxModel  = 256 // bytes of a model's name
	maxModels = 100 // number of models in one rollout
)

// usageFrom returns the tokens in a rollout from a byte offset on. It returns one element for each
// model, sorted by name.
func usageFrom(path string, from int64) ([]state.Usage, error) {
	_, list, err := readUsage(path, from)
	return list, err
}

// readUsage returns the usage of a thread at the end of its rollout, and the tokens for each model
// from a byte offset on. It skips lines that it can't decode.
func readUsage(path string, from int64) (c threadUsage, list []state.Usage, err error) {
	models := map[string]state.Usage{}
	err = transcripts.Read(path, 0, -1, func(at int64, text []byte, truncated bool) error {
		var l usageLine
		if truncated || !bytes.Contains(text, []byte(`"token_count"`)) && !bytes.Contains(text, []byte(`"turn_context"`)) || json.Unmarshal(text, &l, jsonstrict.Loose) != nil {
			return nil
		}
		var added state.Usage
		switch {
		case l.Type == "turn_context" && len(l.Payload.Model) <= maxModel:
			c.Model = l.Payload.Model
		case l.Type == "event_msg" && l.Payload.Type == "token_count" && l.Payload.Info.Total.Kind() == '{':
			before := c.Total
			c.Total = cliLayout.Usage(l.Payload.Info.Total, "")
			added = c.Total.Minus(before)
		}
		if at >= from && added.Total() > 0 {
			added.Model = c.Model
			models[c.Model] = added.Plus(models[c.Model])
		}
		if len(models) > maxModels {
			return errors.New("not a rollout of the agent CLI")
		}
		return nil
	})
	return c, state.ByModel(maps.Values(models)), err
}

// Words contains the keywords of the rollout format, separated by white space. They must not be
// masked as secrets, because then the CLI could not read its rollouts.
const Words = `timestamp ordinal type payload metadata session_meta session_id id cwd runtime_workspace_roots originator cli_version
	source exec thread_source user model_provider raymond base_instructions history_mode history_base paginated forked_from_id
	forked_from_ordinal_exclusive context_window window_id dynamic_tools multi_agent_version account_scoped
	event_msg task_started task_complete turn_id turn_context root_turn_id turn_trigger turn_attribution thread_id thread_settings thread_settings_applied
	item_completed item UserMessage AgentMessage FileChange CommandExecution started_at_ms completed_at_ms started_at completed_at
	response_item message role developer assistant content input_text output_text text text_elements reasoning encrypted_content summary
	additional_tools tools namespace functions custom function name description parameters custom_tool_call custom_tool_call_output
	function_call function_call_output call_id input arguments output world_state state full approval_policy never sandbox_policy permission_profile
	file_system model effort token_count info total_token_usage last_token_usage input_tokens cached_input_tokens cache_write_input_tokens
	output_tokens reasoning_output_tokens total_tokens rate_limits token_usage_record usage response_id compacted history_sequence
	internal_chat_message_metadata_passthrough retained_source revision last_agent_message model_context_window collaboration_mode`
