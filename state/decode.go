package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxFile bounds a state file and its journal, in bytes.
const maxFile = 64 << 20

// Invalid says why a state file can't be used. The file is left as it is.
type Invalid struct {
	Path  string // of the file; "" when the data came from elsewhere
	Field string // as in "agents[0].stack[2].state"; "" for the file as a whole
	What  string
}

// Error implements error.
func (e *Invalid) Error() string {
	parts := []string{}
	for _, p := range []string{e.Path, bounded(e.Field), bounded(e.What)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

// bounded is a text of an error, which may come from the file, with its middle left
// out when it is long: the path of a field has a part for each level of nesting.
func bounded(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most/2], "") + "…" + strings.ToValidUTF8(text[len(text)-most/2:], "")
}

// Encode returns the bytes of the state file.
func (r *Run) Encode() ([]byte, error) {
	c := *r
	if c.Agents == nil {
		c.Agents = []*Agent{}
	}
	if c.Events == nil {
		c.Events = []Event{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(&c)
	return b.Bytes(), err
}

// Decode reads and validates a state file of this schema or an earlier one. The
// run that it returns is of this schema. Its error is an *Invalid.
func Decode(data []byte) (*Run, error) {
	if err := strict(data); err != nil {
		return nil, err
	}
	if err := checkSchema(data); err != nil {
		return nil, err
	}
	r := new(Run)
	if err := decode(data, r); err != nil {
		return nil, err
	}
	r.Schema = Schema // what it is written as from now on
	return r, r.Validate()
}

// decode reads strict JSON: no unknown, doubled or wrongly written field.
func decode(data []byte, to any) error {
	err := jsonv2.Unmarshal(data, to, jsonv2.RejectUnknownMembers(true))
	return invalid(err)
}

// checkSchema tells a state file of another version from a broken one.
func checkSchema(data []byte) error {
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := jsonv2.Unmarshal(data, &head); err != nil {
		return invalid(err)
	}
	switch {
	case head.Schema == nil:
		return &Invalid{Field: "schema", What: "is missing: this is no state file"}
	case *head.Schema > Schema:
		return &Invalid{Field: "schema", What: fmt.Sprintf(
			"is %d, newer than the %d this program knows; use a newer release", *head.Schema, Schema)}
	case *head.Schema < 1:
		return &Invalid{Field: "schema", What: fmt.Sprintf("is %d, want 1 to %d", *head.Schema, Schema)}
	}
	return nil
}

// strict refuses what no state file of ours holds: more than one value, null,
// invalid UTF-8, doubled names.
func strict(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return &Invalid{What: "is empty"}
	}
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return invalid(err)
		}
		if tok.Kind() == 'n' {
			return &Invalid{Field: field(d.StackPointer()), What: "is null, want a value"}
		}
		if d.StackDepth() == 0 && len(bytes.TrimSpace(data[d.InputOffset():])) > 0 {
			return &Invalid{What: "has more after the end of the JSON value"}
		}
	}
}

// invalid turns an error of the JSON library into an *Invalid.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		what := syntax.Err.Error()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			what = "is cut off"
		}
		return &Invalid{Field: field(syntax.JSONPointer), What: strings.TrimPrefix(what, "jsontext: ")}
	}
	var semantic *jsonv2.SemanticError
	if errors.As(err, &semantic) {
		what := "has the wrong type"
		if semantic.Err != nil {
			what = strings.TrimPrefix(semantic.Err.Error(), "json: ")
		}
		return &Invalid{Field: field(semantic.JSONPointer), What: what}
	}
	return &Invalid{What: err.Error()}
}

// field words a JSON pointer the way people write it: agents[0].stack[2].state.
func field(p jsontext.Pointer) string {
	out := ""
	for tok := range p.Tokens() {
		if _, err := strconv.Atoi(tok); err == nil {
			out += "[" + tok + "]"
			continue
		}
		if out != "" {
			out += "."
		}
		out += tok
	}
	return out
}
