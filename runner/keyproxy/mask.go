package keyproxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
)

// mask hides the keys in all that an answer of the API says: some gateways tell what they were sent.
func (p *Proxy) mask(r *http.Response) {
	for _, values := range r.Header {
		for i := range values {
			values[i] = p.secrets.Text(values[i])
		}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{p.secrets.MaskReader(r.Body), r.Body}
}

// final is a way to an API that passes no answer on but the last, and no fields behind it: what comes before it, such
// as early hints, or after it is masked by nobody, and no client needs it.
type final struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (f final) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := &exchangeOf(r).isSent
	answer, err := f.Transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(untraced{r.Context()}, &httptrace.ClientTrace{
		WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(sent.Load() || w.Err == nil) },
	})))
	if err != nil {
		return nil, err
	}
	last := *answer // into which the transport puts no trailer
	last.Request, last.Trailer = r, nil
	return &last, nil
}

// untraced is a context without values, one of which would have httputil told of such answers.
type untraced struct{ context.Context }

func (untraced) Value(any) any { return nil }
