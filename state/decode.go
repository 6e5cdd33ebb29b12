package state

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxFile is the maximum size of a state file, and of a line of its journal, in bytes.
const maxFile = 64 << 20

// FileError is the reason why a state file can't be used. The file is not changed.
type FileError struct {
	Path  string // path of the file; "" for data from elsewhere
	Field string // like "agents[0].stack[2].state"; "" for the file as a whole
	What  string
}

// Error implements error.
func (e *FileError) Error() string {
	const maxText = 300 // the texts may come from the file
	parts := []string{e.Path, text.Truncate(e.Field, maxText), text.Truncate(e.What, maxText)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Encode returns the content of the state file.
func (r *Run) Encode() ([]byte, error) {
	data, err := marshal(r, jsontext.WithIndent(" "))
	return append(data, '\n'), err
}

// Decode parses and validates the content of a state file. Its error is a *FileError.
func Decode(data []byte) (*Run, error) {
	r := new(Run)
	if err := invalid(jsonstrict.DecodeVersion(data, r, Schema)); err != nil {
		return nil, err
	}
	return r, r.Validate()
}

// invalid converts an error of jsonstrict into a *FileError.
func invalid(err error) error {
	var bad *jsonstrict.Error
	if errors.As(err, &bad) {
		return &FileError{Field: bad.Field, What: bad.What}
	}
	return err
}
