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

// Kind classifies failed requests.
type Kind int

// The kinds of an Error.
const (
	// Unanswered: the network or the service failed. The service may have carried out the request
	// nevertheless, and a retry may succeed.
	Unanswered Kind = iota
	Limited         // too many requests: not carried out, but may be later
	Missing         // the object doesn't exist or the token can't see it
	Denied          // the token is invalid or lacks permission
	Refused         // any other error that a retry won't change
)

// Error is a failed request. Its text has no URLs, because a signed URL grants access like a key.
type Error struct {
	Op       string // the operation, as in "store artifact"
	Kind     Kind
	Status   int           // HTTP status of the last answer; 0 without an answer
	Wait     time.Duration // pause that the service asked for; 0 if it named none
	Attempts int           // number of requests made
	Err      error         // details beyond the status; may be nil
	Final    bool          // no retry, whatever the kind
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

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsTemporary reports whether an error is an *Error that a later request may not encounter.
func IsTemporary(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Kind == Unanswered || e.Kind == Limited)
}

// IsMissing reports whether an error is an *Error for an object that doesn't exist.
func IsMissing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == Missing
}

// NoAnswer returns the error of a request that got no usable answer.
func NoAnswer(status int, err error) *Error {
	return &Error{Status: status, Err: withoutAddress(err)}
}

// Permanent returns an error that a retry would encounter again.
func Permanent(err error) *Error { return &Error{Kind: Refused, Err: err, Final: true} }

// ResponseError returns the error that a response reports by its status and header; nil for success.
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

// retryAfter returns the pause that a response asks for, and whether the request hit a rate limit.
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

// classify returns the error of a REST API request; nil for success.
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
	var primary *github.RateLimitError // also returned without a request, until a known limit ends
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

// Message returns an error with a message of the service, shortened and without URLs.
func Message(message string) error { return errors.New(shorten(withoutAddresses(message))) }

// maxMessage is how many bytes of a service's message are quoted.
const maxMessage = 80

func shorten(s string) string { return text.Truncate(s, maxMessage) }

var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s"']+`) })

func withoutAddresses(text string) string { return address().ReplaceAllString(text, "<address>") }

// withoutAddress removes URLs from the text of an error. It returns an error without URLs unchanged.
func withoutAddress(err error) error {
	if err == nil {
		return nil
	}
	if text := withoutAddresses(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}
