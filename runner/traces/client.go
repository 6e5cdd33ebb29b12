package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

const (
	firstWait  = time.Second      // before a request is made again; it doubles from there
	mostWait   = 30 * time.Second // that a collector may ask for
	mostAnswer = 64 << 10         // bytes of an answer that are read
	mostReason = 200              // bytes of a collector's words that are told
)

// client posts spans to a collector: OTLP over HTTP, in protobuf. The module's own client does
// the same, but it follows redirects with the headers, and links gRPC into the program, which
// makes it 3 MB larger.
type client struct {
	settings *settings
	http     *http.Client
	ctx      context.Context // of all requests
	closing  chan struct{}   // closed once nothing more comes: what fails then is not repeated
}

// newClient returns a client whose requests end with ctx. A nil transport is that of the
// settings.
func newClient(ctx context.Context, s *settings, transport http.RoundTripper) *client {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = s.tls
		transport = t
	}
	return &client{settings: s, ctx: ctx, closing: make(chan struct{}), http: &http.Client{
		Transport: transport,
		// Another host must not get the headers, which log in to this one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error { return nil }

// rejected is the answer of a collector that did not take all spans.
type rejected struct {
	spans int64
	why   string
}

// Error implements error.
func (r *rejected) Error() string { return "it refused them: " + r.why }

// busy is why a request may be made again, and after which time at the earliest.
type busy struct {
	error
	wait time.Duration
}

// Unwrap returns why.
func (b *busy) Unwrap() error { return b.error }

// UploadTraces implements otlptrace.Client. It makes a request again that may pass then, until
// ctx is done or the client is closing. Its error may be a *rejected.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// A request for the export has the same form as this message.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.settings.compresses {
		body = compressed(body)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	var before error
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		isLast := c.isClosing()
		err := c.post(ctx, body)
		var again *busy
		switch {
		case err != nil && ctx.Err() != nil && before != nil:
			return before
		case !errors.As(err, &again):
			return err
		case isLast || ctx.Err() != nil:
			return again.error
		}
		before = again.error
		select {
		case <-ctx.Done():
		case <-c.closing:
		case <-time.After(max(wait, again.wait)):
		}
	}
}

// isClosing reports whether this is the last chance of what is left.
func (c *client) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

func compressed(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body) // to memory, which does not fail
	_ = z.Close()
	return b.Bytes()
}

// post makes one request.
func (c *client) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.settings.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.settings.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "raymond")
	if c.settings.compresses {
		r.Header.Set("Content-Encoding", "gzip")
	}
	for name, value := range c.settings.headers {
		r.Header.Set(name, value)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return c.unanswered(ctx, err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil && answer.StatusCode == http.StatusOK {
		return c.unanswered(ctx, err)
	}
	return judge(answer, said)
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
	return &busy{error: err}
}

// judge returns why spans have not arrived, and nil when they have.
func judge(answer *http.Response, said []byte) error {
	code := answer.StatusCode
	isPage := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html")
	switch {
	case code >= 200 && code <= 299 && isPage:
		return errors.New("it is no collector: it answered with a web page")
	case code >= 200 && code <= 299:
		return partly(said)
	}
	err := fmt.Errorf("it answered with the status %d", code)
	switch code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return &busy{err, min(max(0, time.Duration(seconds)*time.Second), mostWait)}
	}
	return err
}

// partly reads an ExportTraceServiceResponse: its field 1 says how many spans were refused (1),
// and why (2). What is none says nothing.
func partly(said []byte) error {
	partial := decode(decode(said)[1].bytes)
	count := int64(partial[1].number)
	if count <= 0 {
		return nil
	}
	return &rejected{count, text.Line(text.Shortened(string(partial[2].bytes), mostReason))}
}

// value is that of a field.
type value struct {
	number uint64
	bytes  []byte
}

// decode returns the fields of a message, as far as it can be decoded.
func decode(message []byte) map[protowire.Number]value {
	fields := map[protowire.Number]value{}
	for len(message) > 0 {
		number, kind, head := protowire.ConsumeTag(message)
		if head < 0 {
			break
		}
		n := protowire.ConsumeFieldValue(number, kind, message[head:])
		if n < 0 {
			break
		}
		var v value
		switch field := message[head : head+n]; kind {
		case protowire.VarintType:
			v.number, _ = protowire.ConsumeVarint(field)
		case protowire.BytesType:
			v.bytes, _ = protowire.ConsumeBytes(field)
		}
		fields[number], message = v, message[head+n:]
	}
	return fields
}
