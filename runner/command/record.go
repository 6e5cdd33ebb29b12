package command

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// The types of records.
const (
	typeText    = "text"
	typeSession = "session"
	typeCost    = "cost"
	typeTool    = "tool"
	typeError   = "error"
)

// record is one line of the program's output. docs/schema/command.schema.json defines the format.
type record struct {
	Type string `json:"type"`

	Text string `json:"text"` // in a text record

	ID string `json:"id"` // in a session record

	// In a cost record: the usage since the previous cost record.
	USD    jsontext.Value `json:"usd"`
	Model  string         `json:"model"`
	Cached jsontext.Value `json:"cached"`
	Output jsontext.Value `json:"output"`

	Name string `json:"name"` // in a tool record

	// Input is the input of a tool. In a cost record, it is the number of input tokens that were not cached.
	Input jsontext.Value `json:"input"`

	// In an error record.
	Class   string         `json:"class"`
	Message string         `json:"message"`
	Until   jsontext.Value `json:"until"` // a date in the format of RFC 3339, or a number of seconds since 1970
}

// parse parses a line. It returns false if the line is not a record.
func parse(line []byte) (r record, ok bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' || jsonstrict.CheckSize(line) != nil || json.Unmarshal(line, &r, jsonstrict.Loose) != nil {
		return record{}, false
	}
	switch r.Type {
	case typeText, typeSession, typeCost, typeTool, typeError:
		return r, true
	}
	return record{}, false
}

// shownFields are the fields of tool inputs that are shown, in order of preference.
var shownFields = []string{"command", "file_path", "filePath", "path", "url", "pattern", "query", "description"}

// mostTokens is the largest number of tokens that count returns. Larger numbers are reduced to it.
const mostTokens = 1e12

// count parses a number of tokens. It returns 0 if raw is empty. It returns false if raw is not a number
// or is negative.
func count(raw jsontext.Value) (int64, bool) {
	if len(raw) == 0 {
		return 0, true
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if raw.Kind() != '0' || n < 0 || err != nil && n == 0 {
		return 0, false
	}
	return int64(min(n, mostTokens)), true
}
