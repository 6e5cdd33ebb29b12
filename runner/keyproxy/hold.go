package keyproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// The bodies of requests that are held at once, in bytes: by the proxy, and of one account, which is
// also the longest request. Others wait until there is room.
const (
	maxHeld = 64 << 20
	maxBody = maxHeld / 2
)

var (
	errNoLength = errors.New("a request has to say its length")
	errTooLong  = fmt.Errorf("the request is over %d MiB", maxBody>>20)
	errBusy     = errors.New("raymond: other requests of the run come first; try again")
)

const (
	longestTurn = 4 * time.Minute  // how long a request waits for room and for the budget
	longestRead = 10 * time.Second // how long an announced body may take to arrive
)

// wait notes that a request of the account waits, until the function that it returns is called.
func (a *Account) wait() (end func()) {
	began := time.Now()
	a.waiting.Add(1)
	return func() {
		if time.Since(began) > time.Second { // a shorter wait does not pause the agent CLI
			a.waited.Store(time.Now().UnixNano())
		}
		a.waiting.Add(-1)
	}
}

// hold reads the body of r whole and makes r one that has it at hand. The server closes the body of a
// request as soon as its answer begins; an upstream that answers at once would otherwise lose its
// connection, because the transport may still be about to look for the body's end. The caller must
// call release when r has been answered. ctx ends the wait for room.
func (a *Account) hold(ctx context.Context, w http.ResponseWriter, r *http.Request) (release func(), err error) {
	defer a.wait()()
	n := r.ContentLength
	switch {
	case n < 0:
		return nil, errNoLength
	case n > maxBody:
		return nil, errTooLong
	}
	if err := a.room.Acquire(ctx, n); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := a.proxy.room.Acquire(ctx, n); err != nil {
		a.room.Release(n)
		return nil, context.Cause(ctx)
	}
	release = func() {
		a.proxy.room.Release(n)
		a.room.Release(n)
	}
	body, connection := make([]byte, n), http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(longestRead)) // a client that announces much and sends nothing must not keep the room
	if _, err := io.ReadFull(r.Body, body); err != nil {
		release()
		return nil, err
	}
	_ = connection.SetReadDeadline(time.Time{})
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	return release, nil
}

// unreadable answers a request whose body could not be read.
func (p *Proxy) unreadable(w http.ResponseWriter, r *http.Request, v *vendor, err error) {
	switch {
	case errors.Is(err, errTooLong):
		v.refuse(w, http.StatusRequestEntityTooLarge, err.Error())
	case errors.Is(err, errNoLength):
		v.refuse(w, http.StatusLengthRequired, err.Error())
	case errors.Is(err, os.ErrDeadlineExceeded):
		v.refuse(w, http.StatusRequestTimeout, "the request did not arrive: "+err.Error())
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "30")
		v.refuse(w, http.StatusTooManyRequests, err.Error())
	case r.Context().Err() != nil || errors.Is(err, io.ErrUnexpectedEOF): // the client has left
	default:
		p.tell(fmt.Sprintf("read a request: %v", err))
		v.refuse(w, http.StatusBadGateway, "read the request: "+err.Error())
	}
}
