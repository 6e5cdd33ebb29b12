package keyproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
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
)

// hold reads the body of r whole and makes r one that has it at hand. The server closes the body of a
// request as soon as its answer begins; an upstream that answers at once would otherwise lose its
// connection, because the transport may still be about to look for the body's end. The caller must
// call release when r has been answered.
func (a *Account) hold(r *http.Request) (release func(), err error) {
	n := r.ContentLength
	switch {
	case n < 0:
		return nil, errNoLength
	case n > maxBody:
		return nil, errTooLong
	}
	if err := a.room.Acquire(r.Context(), n); err != nil {
		return nil, err
	}
	if err := a.proxy.room.Acquire(r.Context(), n); err != nil {
		a.room.Release(n)
		return nil, err
	}
	release = func() {
		a.proxy.room.Release(n)
		a.room.Release(n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		release()
		return nil, err
	}
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
	case r.Context().Err() != nil || errors.Is(err, io.ErrUnexpectedEOF): // the client has left
	default:
		p.tell(fmt.Sprintf("read a request: %v", err))
		v.refuse(w, http.StatusBadGateway, "read the request: "+err.Error())
	}
}
