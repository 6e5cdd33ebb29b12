package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// maxBytes is the largest size of a JSON text in bytes.
const maxBytes = 1 << 20

// read decodes a text that must be exactly one JSON value, without duplicate names. Numbers become
// float64.
func read(text string) (value any, v *Violation) {
	switch err := jsonstrict.CheckSize([]byte(text)); {
	case strings.TrimSpace(text) == "":
		return nil, &Violation{Message: "it is empty, not JSON"}
	case len(text) > maxBytes:
		return nil, &Violation{Message: fmt.Sprintf("it has %d bytes, over the limit of %d", len(text), maxBytes)}
	case err != nil:
		return nil, &Violation{Message: err.Error()}
	}
	err := json.Unmarshal([]byte(text), &value)
	if err == nil {
		return value, nil
	}
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return nil, &Violation{Pointer: shorten(string(syntax.JSONPointer)), Message: "the name appears twice"}
	case errors.As(err, &syntax):
		at := min(int(syntax.ByteOffset), len(text))
		return nil, &Violation{Message: fmt.Sprintf("it is not JSON: %v (line %d)", syntax.Err, 1+strings.Count(text[:at], "\n"))}
	case errors.As(err, &semantic):
		return nil, &Violation{Pointer: shorten(string(semantic.JSONPointer)), Message: "the number is too large"}
	}
	return nil, &Violation{Message: "it is not JSON: " + shorten(err.Error())}
}
