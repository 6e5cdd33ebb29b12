package keyproxy

import (
	"context"
	"io"
	"net/http"
)

// mask hides the keys in all that an answer of the API says: some gateways tell what they were sent.
func (p *Proxy) mask(r *http.Response) {
	p.maskFields(r.Header)
	r.Body = &masked{Reader: p.secrets.Fill(r.Body), Closer: r.Body, end: func() { p.maskFields(r.Trailer) }}
}

func (p *Proxy) maskFields(h http.Header) {
	for _, values := range h {
		for i := range values {
			values[i] = p.secrets.Text(values[i])
		}
	}
}

// masked is the body of an answer, as long as it was, without the keys.
type masked struct {
	io.Reader
	io.Closer
	end func() // is called when all is read, and the trailer is there
}

// Read implements io.Reader.
func (m *masked) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err != nil {
		m.end()
	}
	return n, err
}

// final is a way to an API that passes no answer on but the last: what comes before it, such as early
// hints, is masked by nobody, and no client needs it.
type final struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (f final) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := f.Transport.RoundTrip(r.WithContext(untraced{r.Context()}))
	if err == nil {
		answer.Request = r
	}
	return answer, err
}

// untraced is a context without values, one of which would have httputil told of such answers.
type untraced struct{ context.Context }

func (untraced) Value(any) any { return nil }
