package claude

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// record is one line of the CLI's output, reduced to what this package needs.
// The CLI knows some 50 types of record; fields of one name mean the same in all
// types that are looked at here.
type record struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"` // system/init

	// assistant, user
	Parent  string  `json:"parent_tool_use_id"` // "" in the main thread
	Message message `json:"message"`
	Error   string  `json:"error"` // also system/api_retry

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
}

type message struct {
	ID      string  `json:"id"`
	Model   string  `json:"model"`
	Content content `json:"content"`
}

type rateLimit struct {
	Status   string         `json:"status"`
	ResetsAt jsontext.Value `json:"resetsAt"` // seconds since 1970
}

type denial struct {
	Tool  string         `json:"tool_name"`
	Input jsontext.Value `json:"tool_input"`
}

type block struct {
	Type  string         `json:"type"`
	Text  string         `json:"text"`
	Name  string         `json:"name"`        // tool_use
	Input jsontext.Value `json:"input"`       // tool_use
	ID    jsontext.Value `json:"id"`          // tool_use
	Use   jsontext.Value `json:"tool_use_id"` // tool_result
}

// content is the blocks of a message. A prompt is sometimes a bare string,
// which nothing here needs.
type content []block

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '[' {
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, (*[]block)(c))
}

// loose is how records are read: what a model or a tool wrote may hold names
// twice and bytes that are no UTF-8.
var loose = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func (r *record) decode(line []byte) error { return json.Unmarshal(line, r, loose) }

// typeOf returns the type of a record of which only the beginning is there, ""
// when that does not tell.
func typeOf(head []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(head), loose)
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return ""
		}
		if name.String() != "type" {
			if dec.SkipValue() != nil {
				return ""
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil || value.Kind() != '"' {
			return ""
		}
		return value.String()
	}
}
