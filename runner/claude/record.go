package claude

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// record is one line of the CLI's output, reduced to what this package needs.
// The CLI knows some 50 types of record; fields of one name mean the same in all
// types that are looked at here.
type record struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"`               // system/init
	Version   string `json:"claude_code_version"` // system/init

	// system/permission_denied; what it says of it is the text of Message
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

// result is what only records of type "result" have.
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
	// Kept as they are: what is wrong in them must not cost the answer.
	TotalCost  jsontext.Value `json:"total_cost_usd"`
	ModelUsage jsontext.Value `json:"modelUsage"`
	Share      jsontext.Value `json:"model_usage_since_last_result"`
}

type message struct {
	answer
	Content jsontext.Value `json:"content"`
}

// message reads the message of a record; of one that is a bare text nothing is known.
func (r *record) message() (m message) {
	_ = json.Unmarshal(r.Message, &m, lenient) // what can't be read is not there
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
	// Failed and Said are of a tool_result, which is also where the CLI says why it
	// refused the use.
	Failed bool           `json:"is_error"`
	Said   jsontext.Value `json:"content"`
}

// loose is how records are read: what a model or a tool wrote may hold names
// twice and bytes that are no UTF-8.
var loose = jsonstrict.Loose

// lenient is how whole records are read: a field of a type that nobody expected is
// passed over, so that it costs itself and not the record.
var lenient = json.JoinOptions(loose, json.WithUnmarshalers(json.JoinUnmarshalers(
	program.SkipMistyped[string](`"`), program.SkipMistyped[int]("0"), program.SkipMistyped[rateLimit]("{"),
	program.SkipMistyped[int64]("0"), program.SkipMistyped[denial]("{"), program.SkipMistyped[block]("{"), program.SkipMistyped[[]denial]("["), program.SkipMistyped[[]string]("["),
)))

func (r *record) decode(line []byte) error { return json.Unmarshal(line, r, lenient) }
