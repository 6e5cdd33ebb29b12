package state

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// FileError describes why a state file can't be used. The program does not change the file.
type FileError struct {
	Path  string // path of the file; "" if the data is not from a file
	Field string // path of the field, for example "agents[0].stack[2].state"; "" if the problem is not in a single field
	What  string // description of the problem
}

// Error implements error.
func (e *FileError) Error() string {
	const maxText = 300 // the texts may come from the file, so their length is limited
	parts := []string{e.Path, text.Truncate(e.Field, maxText), text.Truncate(e.What, maxText)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Encode returns the run as the content of a state file.
func (r *Run) Encode() ([]byte, error) {
	data, err := Marshal(r, jsontext.WithIndent(" "))
	return append(data, '\n'), err
}

// Decode parses and validates the content of a state file. It returns a *FileError if the content is
// invalid.
func Decode(data []byte) (*Run, error) {
	r := new(Run)
	if err := invalid(jsonstrict.DecodeVersion(data, r, Schema)); err != nil {
		return nil, err
	}
	return r, r.Validate()
}

// DecodeDelta parses a step, as Marshal encodes it. It returns a *FileError if data is not the JSON of a
// step; whether the step fits a run is for CheckFollows and Run.Validate to check.
func DecodeDelta(data []byte) (*Delta, error) {
	d := new(Delta)
	return d, invalid(jsonstrict.Decode(data, d))
}

// invalid converts an error from the package jsonstrict to a *FileError.
func invalid(err error) error {
	var bad *jsonstrict.Error
	if errors.As(err, &bad) {
		return &FileError{Field: bad.Field, What: bad.What}
	}
	return err
}
