package artifacts

import (
	"errors"
	"time"
)

// Artifact is one artifact of a workflow run.
type Artifact struct {
	ID      int64
	Name    string
	Size    int64  // size in bytes as the service reports it; some services report a wrong number
	Digest  string // "sha256:…" of the stored bytes; empty if the service doesn't report it
	Created time.Time

	run, job string // ids of the workflow run and the job in the results service
}

var (
	// ErrExists means that the workflow run already has an artifact with that name.
	ErrExists = errors.New("an artifact with that name exists")
	// ErrQuota means that the account's artifact storage is full.
	ErrQuota = errors.New("the storage quota for artifacts is exhausted")
	// ErrRefused means that the storage answered a download with an error other than "not found".
	ErrRefused = errors.New("the storage refused the download")
	// ErrDigest means that the downloaded bytes differ from the uploaded bytes.
	ErrDigest = errors.New("the content does not match its digest")
	// ErrTooLarge means that an artifact has more bytes than the caller allows.
	ErrTooLarge = errors.New("the artifact is too large")
)

// ForbiddenInName are the characters that the results service doesn't allow in artifact names.
const ForbiddenInName = "\":<>|*?\r\n\\/"
