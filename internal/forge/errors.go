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

// Kind says what became of a request that was not done.
type Kind int

// The kinds of an Error.
const (
	// Unanswered: the network or the service failed. The request may have been done
	// all the same, and another one may succeed.
	Unanswered Kind = iota
	Limited         // there were too many requests; it was not done, and later it can be
	Missing         // there is no such thing, or the token can't see it
	Denied          // the token is not accepted, or may not do it
	Refused         // something else that another request does not change
)

// Error is a request that a service did not carry out. Its text has no addresses,
// since signed ones are as good as a key.
type Error struct {
	Op       string // what was asked for, as in "store artifact"
	Kind     Kind
	Status   int           // of the last answer; 0 when there was none
	Wait     time.Duration // for which the service asked to be left alone; 0: it did not say
	Attempts int           // how many requests were made
	Err      error         // what is known beyond the status; may be nil
	Final    bool          // it is not tried again, whatever its kind
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

// IsTemporary reports whether an error is an *Error that another request, later, need
// not meet.
func IsTemporary(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Kind == Unanswered || e.Kind == Limited)
}

// IsMissing reports whether an error is an *Error that says that there is no such
// thing.
func IsMissing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == Missing
}

// NoAnswer is the error of a request that brought no answer of use.
func NoAnswer(status int, err error) *Error {
	return &Error{Status: status, Err: withoutAddress(err)}
}

// Permanent is an error that another request would meet too.
func Permanent(err error) *Error { return &Error{Kind: Refused, Err: err, Final: true} }

// ResponseError says what an answer means by its status and header; nil for a success.
func ResponseError(resp *http.Response) *Error {
	status := resp.StatusCode
	if status/100 == 2 {
		return nil
	}
	e := &Error{Status: status, Kind: Refused, Err: errors.New(cmp.Or(http.StatusText(status), "an unknown status"))}
	wait, isTold := waitTold(resp.Header)
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusForbidden && isTold:
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

// waitTold returns how long an answer wants its service to be left alone.
func waitTold(header http.Header) (wait time.Duration, isTold bool) {
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

// classify says what an answer of the REST API means; nil for a success.
func classify(resp *github.Response, err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Err: withoutAddress(err)}
	if resp != nil && resp.Response != nil {
		if e = ResponseError(resp.Response); e == nil {
			return NoAnswer(resp.StatusCode, errors.New("the answer is cut off, or not the JSON that was asked for"))
		}
	}
	var answer *github.ErrorResponse
	var address *url.Error
	var primary *github.RateLimitError // also without a request, while the library knows of a limit
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
		e.Err = errors.New("the rate limit is used up")
	}
	return e
}

// Message is an error with a service's own message, without addresses.
func Message(said string) error { return errors.New(shorten(withoutAddresses(said))) }

// maxMessage is how much of a service's own message is repeated, in bytes.
const maxMessage = 80

func shorten(s string) string { return text.Truncate(s, maxMessage) }

var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s"']+`) })

func withoutAddresses(text string) string { return address().ReplaceAllString(text, "<address>") }

// withoutAddress removes addresses from the text of an error. One without any stays
// the error that it is.
func withoutAddress(err error) error {
	if err == nil {
		return nil
	}
	if text := withoutAddresses(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}
