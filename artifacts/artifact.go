package artifacts

import (
	"errors"
	"time"
)

// Artifact is one artifact of a workflow run.
type Artifact struct {
	ID      int64
	Name    string
	Size    int64  // bytes, as the service tells it; some tell something else
	Digest  string // "sha256:…" of the stored bytes; "" when the service does not say
	Created time.Time

	run, job string // by which the results service names the run and the job
}

var (
	// ErrExists says that the run already has an artifact of that name.
	ErrExists = errors.New("an artifact of that name exists")
	// ErrQuota says that the account's storage for artifacts is used up.
	ErrQuota = errors.New("the storage quota for artifacts is used up")
	// ErrRefused says that the storage does not hand out a content.
	ErrRefused = errors.New("the storage refuses the content")
	// ErrDigest says that what came is not what was stored.
	ErrDigest = errors.New("the content does not match its digest")
	// ErrTooLarge says that an artifact has more bytes than the caller accepts.
	ErrTooLarge = errors.New("the artifact is too large")
)

// ForbiddenInName are the characters that names of artifacts can't have: a limit of
// the results service.
const ForbiddenInName = "\":<>|*?\r\n\\/"
