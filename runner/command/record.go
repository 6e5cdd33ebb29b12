package command

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// The types of record.
const (
	typeText    = "text"
	typeSession = "session"
	typeCost    = "cost"
	typeTool    = "tool"
	typeError   = "error"
)

// record is one line of the program's output. docs/schema/command.schema.json describes it.
type record struct {
	Type string `json:"type"`

	Text string `json:"text"` // text

	ID string `json:"id"` // session

	// cost: of what was used since the line before
	USD    jsontext.Value `json:"usd"`
	Model  string         `json:"model"`
	Cached jsontext.Value `json:"cached"`
	Output jsontext.Value `json:"output"`

	Name string `json:"name"` // tool

	// Input is the input of a tool, and, of cost, the tokens that are not from the cache.
	Input jsontext.Value `json:"input"`

	// error
	Class   string         `json:"class"`
	Message string         `json:"message"`
	Until   jsontext.Value `json:"until"`
}

// parse reads a line, and returns false for one that is no record.
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

// shownFields are the fields of a tool's input that say most about its use, best first.
var shownFields = []string{"command", "file_path", "filePath", "path", "url", "pattern", "query", "description"}

// until reads the time at which a limit ends: a date as in RFC 3339, or seconds since 1970.
// What is neither is the zero time.
func (r record) until() time.Time {
	text := strings.Trim(string(r.Until), `"`)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC()
	}
	return program.ParseEpoch(r.Until)
}

// mostTokens is the largest count that is believed.
const mostTokens = 1e12

// count reads a number of tokens, of which a missing one is 0. The second value is false for
// what is no such number.
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
