package forge

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Kind is the kind of a failed request.
type Kind int

// The kinds of an Error.
const (
	// Unanswered means that the network or the service failed. The service may have carried out the request
	// nevertheless. A retry may succeed.
	Unanswered Kind = iota
	Limited         // too many requests; this one was not carried out, but a later one may be
	Missing         // the object doesn't exist, or the token doesn't give access to it
	Denied          // the token is invalid or lacks permission
	Refused         // any other error that a retry would encounter again
)

// Error describes a failed request. Its text contains no URLs, because a signed URL grants access like a key.
type Error struct {
	Op       string // the operation, for example "store artifact"
	Kind     Kind
	Status   int           // HTTP status of the last answer; 0 if no answer arrived
	Wait     time.Duration // pause that the service requested; 0 if it requested no pause
	Attempts int           // number of requests made
	Err      error         // details beyond the status; may be nil
	Final    bool          // it must not be retried, whatever Kind says
}

func (e *Error) Error() string {
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

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// IsTemporary reports whether an error is an *Error after which a later request may succeed.
func IsTemporary(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Kind == Unanswered || e.Kind == Limited)
}

// IsMissing reports whether an error is an *Error for an object that doesn't exist.
func IsMissing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == Missing
}

// NoAnswer returns the error of a request that got no answer, or an unusable one. status is 0 without an
// answer.
func NoAnswer(status int, err error) *Error {
	return &Error{Status: status, Err: withoutAddress(err)}
}

// Permanent returns an error for which Retrier makes no further attempt.
func Permanent(err error) *Error { return &Error{Kind: Refused, Err: err, Final: true} }

// ResponseError returns the error that the status and the header of a response report. It returns nil if the
// status means success.
func ResponseError(resp *http.Response) *Error {
	status := resp.StatusCode
	if status/100 == 2 {
		return nil
	}
	e := &Error{Status: status, Kind: Refused, Err: errors.New(cmp.Or(http.StatusText(status), "an unknown status"))}
	wait, isLimited := retryAfter(resp.Header)
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusForbidden && isLimited:
		e.Kind, e.Wait = Limited, wait
	case status >= 500, status == http.StatusRequestTimeout:
		e.Kind, e.Wait = Unanswered, wait
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Kind = Denied
	case status == http.StatusNotFound, status == http.StatusGone:
		e.Kind = Missing
	}
	return e
}

// retryAfter returns the pause that a response requests, and whether the request exceeded a rate limit.
func retryAfter(header http.Header) (wait time.Duration, isLimited bool) {
	if after, err := strconv.Atoi(header.Get("Retry-After")); err == nil && after >= 0 {
		return time.Duration(after) * time.Second, true
	}
	if header.Get("X-RateLimit-Remaining") != "0" {
		return 0, false
	}
	reset, err := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return 0, true
	}
	return max(0, time.Until(time.Unix(reset, 0))), true
}

// classify returns the error of a REST API request. It returns nil if err is nil.
func classify(resp *github.Response, err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Err: withoutAddress(err)}
	if resp != nil && resp.Response != nil {
		if e = ResponseError(resp.Response); e == nil {
			return NoAnswer(resp.StatusCode, errors.New("the answer is incomplete or not the expected JSON"))
		}
	}
	var answer *github.ErrorResponse
	var address *url.Error
	var primary *github.RateLimitError // until a known limit ends, the library returns it without sending a request
	var secondary *github.AbuseRateLimitError
	if errors.As(err, &primary) {
		e.Kind, e.Wait = Limited, cmp.Or(e.Wait, max(0, time.Until(primary.Rate.Reset.Time)))
	} else if errors.As(err, &secondary) {
		e.Kind = Limited
		if secondary.RetryAfter != nil {
			e.Wait = cmp.Or(e.Wait, *secondary.RetryAfter)
		}
	}
	switch {
	case e.Kind == Limited:
	case errors.As(err, &answer) && answer.Message != "":
		e.Err = Message(answer.Message)
		if e.Kind == Denied && strings.Contains(answer.Message, "rate limit") {
			e.Kind = Limited
		}
	case errors.As(err, &address):
		e.Err = withoutAddress(address.Err)
	}
	if e.Kind == Limited {
		e.Err = errors.New("the rate limit is exhausted")
	}
	return e
}

// Message returns an error with a message from the service. The message is shortened, and URLs are removed.
func Message(message string) error { return errors.New(shorten(withoutAddresses(message))) }

// shorten truncates a text that is quoted from a service's message.
func shorten(s string) string { return text.Truncate(s, 80) }

var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s"']+`) })

// withoutAddresses replaces each URL in a text by a placeholder.
func withoutAddresses(text string) string { return address().ReplaceAllString(text, "<address>") }

// withoutAddress returns an error whose text contains no URLs. If the text of err contains no URL, the result is
// err itself.
func withoutAddress(err error) error {
	if err == nil {
		return nil
	}
	if text := withoutAddresses(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}
