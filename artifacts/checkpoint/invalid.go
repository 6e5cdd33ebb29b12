package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// ErrSealed means that a checkpoint is encrypted, but no key was given.
var ErrSealed = errors.New("the checkpoint is encrypted: set the input state-key to the key that it was saved with")

// ErrNotSigned means that a key was given, but the checkpoint is neither encrypted nor signed.
var ErrNotSigned = errors.New("the checkpoint is not signed, although state-key is set: anyone who can store artifacts could have made it")

// ErrTooLarge means that a checkpoint would exceed the limits that Read enforces.
var ErrTooLarge = errors.New("too large for a checkpoint")

// Invalid is the error for a checkpoint that can't be used, because it is damaged or forged, or because
// another program made it.
type Invalid struct {
	Path string // for example "manifest.json: files[2].sha256"; empty for the whole checkpoint
	What string
}

func (e *Invalid) Error() string {
	if e.Path == "" {
		return "the checkpoint " + e.What
	}
	return e.Path + ": " + e.What
}

// invalid converts an error from reading an archive to an *Invalid. An error of this machine's file system
// is returned unchanged, because the checkpoint may be valid.
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
