package claude

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// record is one line of the CLI's output, reduced to the fields that this package needs. The CLI has
// about 50 types of records; a field has the same meaning in all types that this package uses.
type record struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"`               // system/init
	Version   string `json:"claude_code_version"` // system/init

	// system/permission_denied; Message is its text
	ToolUse string `json:"tool_use_id"`

	// assistant, user
	Parent  string         `json:"parent_tool_use_id"` // "" in the main thread
	Message jsontext.Value `json:"message"`
	Error   string         `json:"error"` // also system/api_retry

	// system/api_retry
	Attempt     int `json:"attempt"`
	ErrorStatus int `json:"error_status"`

	// rate_limit_event
	RateLimit rateLimit `json:"rate_limit_info"`

	result
}

// result contains the fields that only records of type "result" have.
type result struct {
	Subtype string `json:"-"` // copied from the record
	hasText bool   // the final message was not empty

	IsError        bool           `json:"is_error"`
	Result         string         `json:"result"`
	Errors         []string       `json:"errors"`
	APIErrorStatus int            `json:"api_error_status"`
	StopReason     jsontext.Value `json:"stop_reason"` // nil when absent
	TerminalReason string         `json:"terminal_reason"`
	NumTurns       int            `json:"num_turns"`
	Denials        []denial       `json:"permission_denials"`
	// These stay undecoded, so that a mistake in them can't make the record unreadable.
	TotalCost  jsontext.Value `json:"total_cost_usd"`
	ModelUsage jsontext.Value `json:"modelUsage"`
	Share      jsontext.Value `json:"model_usage_since_last_result"`
}

type messageRecord struct {
	answer
	Content jsontext.Value `json:"content"`
}

// decodeMessage decodes the message of a record. It is empty if the message is a bare text.
func (r *record) decodeMessage() (m messageRecord) {
	_ = json.Unmarshal(r.Message, &m, lenient) // stays empty if it can't be decoded
	return m
}

type rateLimit struct {
	Status   string         `json:"status"`
	ResetsAt jsontext.Value `json:"resetsAt"` // seconds since 1970
}

type denial struct {
	Tool  string         `json:"tool_name"`
	Use   string         `json:"tool_use_id"`
	Input jsontext.Value `json:"tool_input"`
}

// block is a part of a message, in the output and in transcripts.
type block struct {
	Type  string         `json:"type"`
	Text  string         `json:"text"`
	Name  string         `json:"name"`        // tool_use
	Input jsontext.Value `json:"input"`       // tool_use
	ID    string         `json:"id"`          // tool_use
	Use   string         `json:"tool_use_id"` // tool_result
	// Failed and Content belong to a tool_result. There the CLI also reports why it refused the tool.
	Failed  bool           `json:"is_error"`
	Content jsontext.Value `json:"content"`
}

// loose are the options for decoding records: text of models and tools may contain duplicate names and
// invalid UTF-8.
var loose = jsonstrict.Loose

// lenient are the options for whole records: a field of an unexpected type is skipped, so that only
// this field is lost.
var lenient = json.JoinOptions(loose, json.WithUnmarshalers(json.JoinUnmarshalers(
	program.SkipMistyped[string](`"`), program.SkipMistyped[int]("0"), program.SkipMistyped[rateLimit]("{"),
	program.SkipMistyped[int64]("0"), program.SkipMistyped[denial]("{"), program.SkipMistyped[block]("{"), program.SkipMistyped[[]denial]("["), program.SkipMistyped[[]string]("["),
)))

func (r *record) decode(line []byte) error { return json.Unmarshal(line, r, lenient) }
