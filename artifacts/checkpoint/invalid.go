package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// ErrSealed says that a checkpoint is encrypted and that no key was given.
var ErrSealed = errors.New("the checkpoint is encrypted: set the input state-key to the key that it was saved with")

// ErrNotSigned says that a key was given, but the checkpoint is neither encrypted
// nor signed with any.
var ErrNotSigned = errors.New("the checkpoint is not signed, though state-key is set: anybody who can store artifacts could have made it")

// ErrTooLarge says that a checkpoint would be over the limits that Read sets.
var ErrTooLarge = errors.New("too large for a checkpoint")

// Invalid says why a checkpoint can't be used: it is damaged, forged, or not one
// of this program's.
type Invalid struct {
	Path string // as in "manifest.json: files[2].sha256"; "" for the whole
	What string
}

func (e *Invalid) Error() string {
	if e.Path == "" {
		return "the checkpoint " + e.What
	}
	return e.Path + ": " + e.What
}

// invalid turns an error of reading into an *Invalid, unless this machine is to
// blame for it.
func invalid(path string, err error) error {
	var machine *fs.PathError
	var malformed *archive.Malformed
	switch {
	case err == nil, errors.As(err, &machine):
		return err
	case errors.As(err, &malformed) && malformed.Entry == "":
		return &Invalid{What: malformed.What}
	case errors.As(err, &malformed):
		return &Invalid{fmt.Sprintf("%.300q", malformed.Entry), malformed.What}
	}
	return &Invalid{path, err.Error()}
}
