package keyproxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
)

// mask replaces the API keys in a response's headers and body, because some gateways repeat parts of the
// request.
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

// finalTransport is a transport that returns only the final response. It drops informational responses,
// such as early hints, and trailers. The proxy would not mask secrets in these, and no client needs them.
type finalTransport struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (f finalTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := &exchangeOf(r).isSent
	answer, err := f.Transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(noValues{r.Context()}, &httptrace.ClientTrace{
		WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(sent.Load() || w.Err == nil) },
	})))
	if err != nil {
		return nil, err
	}
	last := *answer // a copy, because the transport later adds trailers to the original
	last.Request, last.Trailer = r, nil
	return &last, nil
}

// noValues hides the values of a context. One of these values is a client trace of httputil.ReverseProxy,
// which would forward informational responses.
type noValues struct{ context.Context }

// Value returns nil for every key.
func (noValues) Value(any) any { return nil }
