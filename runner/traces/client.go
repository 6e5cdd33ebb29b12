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
	maxResponse = 64 << 10 // maximum bytes of a response that are read
	maxReason   = 200      // maximum bytes of a collector's error message that are shown
)

// client sends spans to a collector, as JSON with OTLP over HTTP.
type client struct {
	settings *settings
	http     *http.Client
	ctx      context.Context // cancelling it ends all requests
}

// busyError is the error of a request that may succeed if it is repeated later.
type busyError struct{ error }

// upload sends an export. If refused is above 0, the collector has accepted the request but
// rejected that many spans, and err contains the collector's reason. A busyError means that the
// request may be repeated.
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
		return 0, c.noResponse(ctx, err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxResponse))
	if err != nil && answer.StatusCode == http.StatusOK {
		return 0, c.noResponse(ctx, err)
	}
	code := answer.StatusCode
	isPage := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html")
	switch {
	case code >= 200 && code <= 299 && isPage:
		return 0, errors.New("the server is not a collector: it responded with a web page")
	case code >= 200 && code <= 299:
		return partialSuccess(content)
	}
	err = fmt.Errorf("the collector responded with status %d", code)
	switch code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 0, busyError{err}
	}
	return 0, err
}

// noResponse returns an error for a request without a response. The error does not contain the URL,
// which may contain a secret.
func (c *client) noResponse(ctx context.Context, err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	switch {
	case c.ctx.Err() != nil:
		err = errors.New("the collector did not respond before the program ended")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("the collector did not respond within %s", c.settings.timeout)
	}
	return busyError{err}
}

// partialSuccess decodes an ExportTraceServiceResponse. If the response reports rejected spans, it
// returns their number and the reason. A body that can't be decoded counts as success.
func partialSuccess(body []byte) (refused int64, why error) {
	var answer struct {
		Partial struct {
			Rejected json.RawMessage `json:"rejectedSpans"` // a number, or a string that contains a number
			Why      string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return 0, nil
	}
	refused, err := strconv.ParseInt(strings.Trim(string(answer.Partial.Rejected), `"`), 10, 64)
	if err != nil || refused <= 0 {
		return 0, nil
	}
	return refused, errors.New("the collector refused them: " + text.Line(text.Truncate(answer.Partial.Why, maxReason)))
}
