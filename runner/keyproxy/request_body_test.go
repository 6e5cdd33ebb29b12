package keyproxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// setBody sets the body of a request and its length.
func setBody(r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// TestRequestsOfAnySizePass checks that the API receives requests unchanged. Requests that are too long
// or have no length must be rejected with a suitable HTTP status.
func TestRequestsOfAnySizePass(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		sum := sha256.New()
		n, err := io.Copy(sum, r.Body)
		fmt.Fprintf(w, "%d %d %x %v", r.ContentLength, n, sum.Sum(nil), err)
	}))
	t.Cleanup(upstream.Close)
	logged := &lines{}
	p := start(t, Options{Vendors: vendors(upstream.URL), Log: logged.add})
	for _, size := range []int{1, 1000, 3 << 20} {
		body := bytes.Repeat([]byte("ab1"), size/3+1)[:size]
		_, got := ask(t, p, func(r *http.Request) { setBody(r, body) })
		assert.Check(t, is.Equal(got, fmt.Sprintf("%d %d %x <nil>", size, size, sha256.Sum256(body))), "%d bytes", size)
	}
	for announced, status := range map[int64]int{maxBody + 1: http.StatusRequestEntityTooLarge, -1: http.StatusLengthRequired} {
		answer, body := ask(t, p, func(r *http.Request) { setBody(r, make([]byte, maxBody+1)); r.ContentLength = announced })
		assert.Check(t, is.Equal(answer.StatusCode, status), "announced as %d bytes: got %s %q, want %d", announced, answer.Status, body, status)
	}
	assert.Check(t, is.Equal(logged.text(), ""), "log")
}

// TestMemoryForBodiesIsBounded checks two limits: one account may use half of the memory for bodies, and all
// accounts together may use all of it.
func TestMemoryForBodiesIsBounded(t *testing.T) {
	p := start(t, Options{Vendors: vendors("")})
	one, two, three := p.Open(toy, "1"), p.Open(toy, "2"), p.Open(toy, "3")
	gone, leave := context.WithCancel(t.Context())
	leave()
	hold := func(ctx context.Context, a *Account, n int) (func(), error) {
		return a.readBody(ctx, httptest.NewRecorder(), request(a, http.MethodPost, "/v1/messages", bytes.NewReader(make([]byte, n))))
	}
	release, err := hold(t.Context(), one, maxBody)
	assert.NilError(t, err)
	_, err = hold(gone, one, 1)
	assert.Check(t, err != nil, "more of one account: got it held, want it to wait")
	_, err = hold(t.Context(), two, maxBody)
	assert.Check(t, err, "another account")
	_, err = hold(gone, three, 1)
	assert.Check(t, err != nil, "more than all: got it held, want it to wait")
	release()
	_, err = hold(t.Context(), three, maxBody)
	assert.Check(t, err, "with room again")
}

// lateBody is a connection that receives nothing before its read deadline.
type lateBody struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (l *lateBody) SetReadDeadline(at time.Time) error {
	l.deadline = at
	return nil
}

func (l *lateBody) Read([]byte) (int, error) {
	if l.deadline.IsZero() {
		return 0, errors.New("no deadline")
	}
	return 0, os.ErrDeadlineExceeded
}

// TestMissingBodyReleasesItsMemory checks that reserved memory is released if a client announces a body and
// doesn't send it.
func TestMissingBodyReleasesItsMemory(t *testing.T) {
	p := start(t, Options{Vendors: vendors("")})
	a, l := p.Open(toy, "1"), &lateBody{ResponseRecorder: httptest.NewRecorder()}
	r := request(a, http.MethodPost, "/v1/messages", l)
	r.ContentLength = maxBody
	_, err := a.readBody(t.Context(), l, r)
	p.unreadable(l, r, a.vendor, err)
	assert.Check(t, l.Code == http.StatusRequestTimeout && a.room.TryAcquire(maxBody) && p.room.TryAcquire(maxHeld), "got %d, %v, want all of the room", l.Code, err)
}
