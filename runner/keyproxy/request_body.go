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

// Limits in bytes for the bodies of requests that are in memory at the same time. maxHeld is the limit for
// the whole proxy. maxBody is the limit for one account and for one request. A request that is larger than
// maxBody is rejected. Any other request waits until its body fits into both limits.
const (
	maxHeld = 64 << 20
	maxBody = maxHeld / 2
)

var (
	errNoLength = errors.New("the request has no length")
	errTooLong  = fmt.Errorf("the request is over %d MiB", maxBody>>20)
	errBusy     = errors.New("raymond: other requests of the run come first; try again")
)

const (
	maxWait     = 4 * time.Minute  // how long a request may wait for memory and for the budget together
	bodyTimeout = 10 * time.Second // how long the client may take to send the body
)

// startWait records that a request of the account is waiting. The caller must call end after the wait.
func (a *Account) startWait() (end func()) {
	began := time.Now()
	a.waiting.Add(1)
	return func() {
		// A wait of at most one second doesn't count as a pause of the agent CLI.
		if time.Since(began) > time.Second {
			a.lastWait.Store(time.Now().UnixNano())
		}
		a.waiting.Add(-1)
	}
}

// readBody reads the whole body of r into memory and replaces r.Body with a reader of that copy. The caller
// must call release after the response. If ctx ends while the request waits for memory, readBody returns
// the cause of ctx's end.
//
// The copy is needed because the server closes the original body as soon as its response begins. If the API
// responds before it has read the whole request, the transport may still be reading the body. The transport
// would then fail and close its connection to the API.
func (a *Account) readBody(ctx context.Context, w http.ResponseWriter, r *http.Request) (release func(), err error) {
	defer a.startWait()()
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
	// The deadline keeps a client that announces a body and sends nothing from holding the memory.
	_ = connection.SetReadDeadline(time.Now().Add(bodyTimeout))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		release()
		return nil, err
	}
	_ = connection.SetReadDeadline(time.Time{})
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	return release, nil
}

// unreadable sends the response for a request whose body could not be read or whose wait has ended. If the
// client has left, it sends nothing.
func (p *Proxy) unreadable(w http.ResponseWriter, r *http.Request, v *vendor, err error) {
	switch {
	case errors.Is(err, errTooLong):
		v.refuse(w, http.StatusRequestEntityTooLarge, err.Error())
	case errors.Is(err, errNoLength):
		v.refuse(w, http.StatusLengthRequired, err.Error())
	case errors.Is(err, os.ErrDeadlineExceeded):
		v.refuse(w, http.StatusRequestTimeout, "the request did not arrive in time: "+err.Error())
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "30")
		v.refuse(w, http.StatusTooManyRequests, err.Error())
	case r.Context().Err() != nil || errors.Is(err, io.ErrUnexpectedEOF): // the client has left
	default:
		p.log(fmt.Sprintf("read a request: %v", err))
		v.refuse(w, http.StatusBadGateway, "read the request: "+err.Error())
	}
}
