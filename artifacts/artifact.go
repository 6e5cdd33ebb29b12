package artifacts

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
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
	// ErrExists says that the run has an artifact of that name already.
	ErrExists = errors.New("an artifact of that name exists")
	// ErrNotFound says that there is no such artifact, or no more.
	ErrNotFound = errors.New("no such artifact")
	// ErrQuota says that the account's storage for artifacts is used up.
	ErrQuota = errors.New("the storage quota for artifacts is used up")
	// ErrRefused says that the storage does not hand a content out.
	ErrRefused = errors.New("the storage refuses the content")
	// ErrDigest says that what came is not what was stored.
	ErrDigest = errors.New("the content does not match its digest")
	// ErrTooLarge says that an artifact has more bytes than the caller takes.
	ErrTooLarge = errors.New("the artifact is too large")
)

// ServiceError is an operation that a service did not carry out.
type ServiceError struct {
	Op       string // as in "store artifact"
	Status   int    // of the last answer; 0 when there was none
	Attempts int
	Err      error // what is known beyond the status; never names an address
}

// Error implements error.
func (e *ServiceError) Error() string {
	text := e.Op
	if e.Status != 0 {
		text += fmt.Sprintf(": status %d", e.Status)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Attempts > 1 {
		text += fmt.Sprintf(" (%d attempts)", e.Attempts)
	}
	return text
}

// Unwrap returns the cause.
func (e *ServiceError) Unwrap() error { return e.Err }

// forbidden are the characters that names of artifacts can't have: a limit of
// the results service.
const forbidden = "\":<>|*?\r\n\\/"

// maxName is the longest name that every service takes, in bytes.
const maxName = 255

// CheckName reports why s can't be the name of an artifact.
func CheckName(s string) error {
	switch {
	case s == "":
		return errors.New("the name is empty")
	case len(s) > maxName:
		return fmt.Errorf("the name has %d bytes, more than %d", len(s), maxName)
	case strings.ContainsAny(s, forbidden):
		return fmt.Errorf("the name %q has one of the characters %q", s, forbidden)
	}
	return nil
}

// address finds URLs in error texts: those of signed requests are as good as a
// key.
var address = regexp.MustCompile(`https?://[^\s"']+`)

// withoutAddress removes addresses from the text of an error.
func withoutAddress(err error) error {
	if err == nil {
		return nil
	}
	text := address.ReplaceAllString(err.Error(), "<address>")
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
