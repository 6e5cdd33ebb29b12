package state

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxFile bounds a state file and its journal, in bytes.
const maxFile = 64 << 20

// FileError says why a state file can't be used. The file is left as it is.
type FileError struct {
	Path  string // of the file; "" when the data came from elsewhere
	Field string // as in "agents[0].stack[2].state"; "" for the file as a whole
	What  string
}

// Error implements error.
func (e *FileError) Error() string {
	const most = 300 // texts may come from the file
	parts := []string{e.Path, text.Truncate(e.Field, most), text.Truncate(e.What, most)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Encode returns the bytes of the state file.
func (r *Run) Encode() ([]byte, error) {
	data, err := marshal(r, jsontext.WithIndent(" "))
	return append(data, '\n'), err
}

// Decode reads and validates a state file. Its error is a *FileError.
func Decode(data []byte) (*Run, error) {
	r := new(Run)
	if err := invalid(jsonstrict.DecodeVersion(data, r, Schema)); err != nil {
		return nil, err
	}
	return r, r.Validate()
}

// invalid turns an error of the JSON into a *FileError.
func invalid(err error) error {
	var bad *jsonstrict.Error
	if errors.As(err, &bad) {
		return &FileError{Field: bad.Field, What: bad.What}
	}
	return err
}
