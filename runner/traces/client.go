package traces

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

const (
	mostAnswer = 64 << 10 // bytes of an answer that are read
	mostReason = 200      // bytes of a collector's words that are told
)

// client posts spans to a collector: OTLP over HTTP, as JSON.
type client struct {
	settings *settings
	http     *http.Client
	ctx      context.Context // of all requests
}

// newClient returns a client whose requests end with ctx. A nil transport is that of the
// settings.
func newClient(ctx context.Context, s *settings, transport http.RoundTripper) *client {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = s.tls
		transport = t
	}
	return &client{settings: s, ctx: ctx, http: &http.Client{
		Transport: transport,
		// Another host must not get the headers, which log in to this one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// busy is why a request failed that may pass later.
type busy struct{ error }

// upload posts an export. Its error may be a busy; or it is about refused spans, and the others
// have arrived.
func (c *client) upload(body []byte) (refused int64, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.settings.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.settings.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "raymond")
	for name, value := range c.settings.headers {
		r.Header.Set(name, value)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return 0, c.unanswered(ctx, err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil && answer.StatusCode == http.StatusOK {
		return 0, c.unanswered(ctx, err)
	}
	code := answer.StatusCode
	isPage := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html")
	switch {
	case code >= 200 && code <= 299 && isPage:
		return 0, errors.New("it is no collector: it answered with a web page")
	case code >= 200 && code <= 299:
		return partly(said)
	}
	err = fmt.Errorf("it answered with the status %d", code)
	switch code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 0, busy{err}
	}
	return 0, err
}

// unanswered says why there is no answer, without the URL, which may have a secret in it.
func (c *client) unanswered(ctx context.Context, err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	switch {
	case c.ctx.Err() != nil:
		err = errors.New("it did not answer until the program ended")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("it did not answer within %s", c.settings.timeout)
	}
	return busy{err}
}

// partly reads an ExportTraceServiceResponse, which may say that spans were refused. What is
// none says nothing.
func partly(said []byte) (refused int64, why error) {
	var answer struct {
		Partial struct {
			Rejected json.RawMessage `json:"rejectedSpans"` // a number, or a string with one
			Why      string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(said, &answer) != nil {
		return 0, nil
	}
	refused, err := strconv.ParseInt(strings.Trim(string(answer.Partial.Rejected), `"`), 10, 64)
	if err != nil || refused <= 0 {
		return 0, nil
	}
	return refused, errors.New("it refused them: " + text.Line(text.Truncate(answer.Partial.Why, mostReason)))
}
