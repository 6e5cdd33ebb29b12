package keyproxy

import (
	"io"
	"net/http"
)

// API describes the API of one vendor to the proxy. Its methods may be called by several goroutines at
// the same time.
type API interface {
	// Backend is the agent CLI that uses the API, as in protocol.Backends.
	Backend() string
	// Upstream is the URL of the vendor's own server.
	Upstream() string
	// Classify returns the class of a request. The URL has the path below the upstream, still escaped
	// (EscapedPath). A request that no agent CLI needs is Refused.
	Classify(r *http.Request) RequestClass
	// Read parses the body of a request. The result lacks the size. The error explains to people why
	// the request is not forwarded, for example because its cost could not be counted.
	Read(r *http.Request, body io.Reader) (Request, error)
	// ShownCredentials returns the credentials in a request, from every place where the API would look
	// for one.
	ShownCredentials(r *http.Request) []string
	// Headers are the names, in canonical form, of the headers that the agent CLI needs in addition to
	// the usual headers of HTTP clients. A name that ends in a hyphen matches all names with that
	// prefix. Other headers are not forwarded.
	Headers() []string
	// Sign removes everything that ShownCredentials examines from a request and adds the real credential.
	Sign(r *http.Request, key Credential)
	// Env returns the variables that make the agent CLI use the proxy; they come after all others.
	// Variables that could hold another credential are set to "".
	Env(Access) []string
	// Counter returns a counter for the response to a Paid request.
	Counter(Request) Counter
	// ErrorBody returns the body, to be encoded as JSON, with which the API would report an error.
	ErrorBody(status int, message string) any
}

// RequestClass determines the handling of a request.
type RequestClass int

// The classes of requests.
const (
	Refused RequestClass = iota // not forwarded
	Free                        // forwarded
	Paid                        // forwarded if the budget permits, and counted
)

// Request contains the properties of a request with a body.
type Request struct {
	Model     string // "" if the body names none
	Size      int64  // of the body, in bytes
	MaxOutput int64  // the maximum number of tokens in the response; 0 if the body has no limit
	// Pictures is the number of pictures in the body, and PictureBytes is how many bytes they take.
	Pictures, PictureBytes int64
	// IsUnbounded is true if the request may cost more than its bytes and pictures would cost as tokens.
	IsUnbounded bool
	// VendorTools are the API's names of tools that the vendor would run, for example web_search.
	VendorTools []string
	// Fetches names something that the vendor would fetch from another server; "" if there is nothing.
	// UnknownFields are fields that RequestFields.Known doesn't contain.
	Fetches       string
	UnknownFields []string
	CachesForHour bool // something is to stay in the cache for an hour
}

// Credential is a credential for a vendor's API.
type Credential struct {
	Text    string
	IsToken bool // a token of a subscription, not an API key
}

// Access is how one invocation of an agent CLI reaches its API.
type Access struct {
	URL        string // the CLI appends the API's paths to it; it has no slash at the end
	Credential string // that the CLI must show; it is useless elsewhere and later
	IsToken    bool   // the real credential is a token
	IsDirect   bool   // requests go to API.Upstream, not to a gateway
	Environ    []string
}

// Counter counts the tokens of one response as it passes. Parts that are too long to be buffered are
// not passed to it. Only one goroutine calls it at a time.
type Counter interface {
	// Event processes the data of one event of a stream.
	Event(data []byte)
	// Whole processes a response that is not a stream.
	Whole(data []byte)
	// Message returns the counts so far; nil before the message has begun. If the API reports an error
	// instead, the result is a counted message without tokens.
	Message() *Message
}

// Vendor is an API to which the proxy forwards requests.
type Vendor struct {
	API API
	// Upstream is the URL of the API if it is not API.Upstream, for example of a gateway; "" for the
	// vendor's own.
	Upstream   string
	Credential Credential // for the API
	Headers    []string   // names, in canonical form, of further headers that a gateway needs
}
