// Package jsonstrict reads JSON that only this program writes, and refuses whatever
// this program would not have written: more than one value, null, invalid UTF-8, and
// fields that are doubled, unknown, or in another case. Somebody who changes a file must
// not find two readers that understand it differently. JSON of others is held to a limit alone.
package jsonstrict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Error says what is wrong with the JSON, and where.
type Error struct {
	Field string // as in "agents[0].stack[2].state"; "" for all of it
	What  string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.What
	}
	return e.Field + ": " + e.What
}

// Decode reads one JSON value. Its error is an *Error.
func Decode(data []byte, to any) error {
	if err := check(data); err != nil {
		return err
	}
	return unmarshal(data, to)
}

// DecodeVersion is Decode for an object whose field schema has the given number. Another
// one is told before anything else that may be different about it.
func DecodeVersion(data []byte, to any, schema int) error {
	if err := check(data); err != nil {
		return err
	}
	if err := checkSchema(data, schema); err != nil {
		return err
	}
	return unmarshal(data, to)
}

// unmarshal reads a time.Duration as encoding/json writes it: a number of nanoseconds.
func unmarshal(data []byte, to any) error {
	return errorOf(json.Unmarshal(data, to, json.RejectUnknownMembers(true), jsonv1.FormatDurationAsNano(true)))
}

// How many lists and objects a text may have: a struct costs hundreds of bytes, and its
// text may have two. What this program writes has many times as many bytes for each.
const (
	manyValues = 20_000 // in any text
	valueBytes = 64     // and one more for so many bytes
	mostValues = 500_000
	mostNames  = 200_000 // of one object, counted with their values
)

// check reads all tokens of a value, and refuses null, what follows the value, and far
// more values than a text of its size would have. Doubled names and invalid UTF-8 are
// errors of the decoder.
func check(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return &Error{What: "is empty"}
	}
	d, left := jsontext.NewDecoder(bytes.NewReader(data)), min(manyValues+len(data)/valueBytes, mostValues)
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return errorOf(err)
		}
		if kind := tok.Kind(); kind == '{' || kind == '[' {
			left--
		}
		in, n := d.StackIndex(d.StackDepth())
		switch {
		case left < 0 || in == '{' && n > mostNames:
			return &Error{What: "has more values than a program of ours would write"}
		case tok.Kind() == 'n':
			return &Error{field(d.StackPointer()), "is null, want a value"}
		case d.StackDepth() > 0:
			continue
		case len(bytes.TrimSpace(data[d.InputOffset():])) > 0:
			return &Error{What: "has more after the end of the JSON value"}
		}
		return nil
	}
}

// checkSchema tells a file of another version from a broken one.
func checkSchema(data []byte, want int) error {
	if bytes.TrimSpace(data)[0] != '{' {
		return &Error{What: "is no JSON object"}
	}
	var head struct {
		Schema jsontext.Value `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return errorOf(err)
	}
	schema, err := strconv.Atoi(string(head.Schema))
	switch {
	case head.Schema.Kind() != '0':
		return &Error{"schema", "is missing or no number"}
	case err != nil || schema != want:
		return &Error{"schema", fmt.Sprintf("is %.20s, want %d: another version of this program wrote it", head.Schema, want)}
	}
	return nil
}

// errorOf turns an error of the JSON library into an *Error; nil stays nil.
func errorOf(err error) error {
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{What: "is cut off"}
	case errors.As(err, &syntax):
		return &Error{field(syntax.JSONPointer), strings.TrimPrefix(syntax.Err.Error(), "jsontext: ")}
	case errors.As(err, &semantic) && semantic.Err != nil:
		return &Error{field(semantic.JSONPointer), strings.TrimPrefix(semantic.Err.Error(), "json: ")}
	case errors.As(err, &semantic):
		return &Error{field(semantic.JSONPointer), "has the wrong type"}
	}
	return &Error{What: err.Error()}
}

// field words a JSON pointer the way people write it: agents[0].stack[2].state.
func field(p jsontext.Pointer) string {
	var out strings.Builder
	for tok := range p.Tokens() {
		switch {
		case tok != "" && strings.Trim(tok, "0123456789") == "":
			out.WriteString("[" + tok + "]")
		case out.Len() > 0:
			out.WriteString("." + tok)
		default:
			out.WriteString(tok)
		}
	}
	return out.String()
}
