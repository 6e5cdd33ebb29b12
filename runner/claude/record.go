package claude

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// record contains the fields of one line of the CLI's output that this package needs. The CLI prints
// about 50 types of records. Each field has the same meaning in all types that this package uses.
type record struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"`               // in system/init records
	Version   string `json:"claude_code_version"` // in system/init records

	// In system/permission_denied records. Message contains the reason.
	ToolUse string `json:"tool_use_id"`

	// In assistant and user records.
	Parent  string         `json:"parent_tool_use_id"` // "" in the main thread
	Message jsontext.Value `json:"message"`
	Error   string         `json:"error"` // also in system/api_retry records

	// In system/api_retry records.
	Attempt     int `json:"attempt"`
	ErrorStatus int `json:"error_status"`

	// In rate_limit_event records.
	RateLimit rateLimit `json:"rate_limit_info"`

	result
}

// result contains the fields that occur only in records of type "result".
type result struct {
	Subtype string `json:"-"` // a copy of record.Subtype
	hasText bool   // the final message was not empty

	IsError        bool           `json:"is_error"`
	Result         string         `json:"result"`
	Errors         []string       `json:"errors"`
	APIErrorStatus int            `json:"api_error_status"`
	StopReason     jsontext.Value `json:"stop_reason"` // nil if the record contains none
	TerminalReason string         `json:"terminal_reason"`
	NumTurns       int            `json:"num_turns"`
	Denials        []denial       `json:"permission_denials"`
	// These fields are not decoded, so that an invalid value doesn't make the whole record unreadable.
	TotalCost  jsontext.Value `json:"total_cost_usd"`
	ModelUsage jsontext.Value `json:"modelUsage"`
	Share      jsontext.Value `json:"model_usage_since_last_result"`
}

// messageRecord is the message in a record of type assistant or user.
type messageRecord struct {
	answer
	Content jsontext.Value `json:"content"`
}

// decodeMessage decodes the message of a record. The result is empty if the message is a plain string.
func (r *record) decodeMessage() (m messageRecord) {
	_ = json.Unmarshal(r.Message, &m, lenient) // m stays empty if the message can't be decoded
	return m
}

// rateLimit describes the usage limit of a subscription.
type rateLimit struct {
	Status   string         `json:"status"`
	ResetsAt jsontext.Value `json:"resetsAt"` // seconds since 1970
}

// denial is a tool call that the CLI denied.
type denial struct {
	Tool  string         `json:"tool_name"`
	Use   string         `json:"tool_use_id"`
	Input jsontext.Value `json:"tool_input"`
}

// block is a part of a message in the CLI's output or in a transcript.
type block struct {
	Type  string         `json:"type"`
	Text  string         `json:"text"`
	Name  string         `json:"name"`        // name of the tool, in a tool_use
	Input jsontext.Value `json:"input"`       // input of the tool, in a tool_use
	ID    string         `json:"id"`          // id of the tool call, in a tool_use
	Use   string         `json:"tool_use_id"` // id of the tool call, in a tool_result
	// Failed and Content occur in a tool_result. If the CLI denied the tool call, Content contains the reason.
	Failed  bool           `json:"is_error"`
	Content jsontext.Value `json:"content"`
}

// loose contains the options for decoding parts of records. Text of models and tools may contain
// duplicate names and invalid UTF-8.
var loose = jsonstrict.Loose

// lenient contains the options for decoding whole records. A field with an unexpected type is skipped,
// so that the others can still be used.
var lenient = json.JoinOptions(loose, json.WithUnmarshalers(json.JoinUnmarshalers(
	program.SkipMistyped[string](`"`), program.SkipMistyped[int]("0"), program.SkipMistyped[rateLimit]("{"),
	program.SkipMistyped[int64]("0"), program.SkipMistyped[denial]("{"), program.SkipMistyped[block]("{"), program.SkipMistyped[[]denial]("["), program.SkipMistyped[[]string]("["),
)))

// typeOf returns the type of a record in a transcript or in the CLI's output. head may be only the
// beginning of the record. The result is "" if head doesn't contain the type.
func typeOf(head []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(head), jsonstrict.Loose)
	if dec.PeekKind() != '{' {
		return ""
	}
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		if name, _ := dec.ReadToken(); name.String() != "type" {
			err = dec.SkipValue()
			continue
		}
		if value, err := dec.ReadToken(); err == nil && value.Kind() == '"' {
			return value.String()
		}
		break
	}
	return ""
}
