package keyproxy

import (
	"io"
	"net/http"
)

// API describes the API of one vendor to the proxy. Its methods may be called by several goroutines at
// the same time.
type API interface {
	// Backend returns the name of the agent CLI that uses the API, as in protocol.Backends.
	Backend() string
	// Upstream returns the URL of the vendor's own server.
	Upstream() string
	// Classify returns the class of a request. The path in the request's URL is relative to the upstream.
	// Implementations should examine EscapedPath, because that form is forwarded. Requests that no agent
	// CLI needs are Refused.
	Classify(r *http.Request) RequestClass
	// Read parses the body of a request. It doesn't set Request.Size. It returns an error if the request
	// must not be forwarded, for example because its cost could not be counted. Users see the error text.
	Read(r *http.Request, body io.Reader) (Request, error)
	// ShownCredentials returns all credentials that a request contains: in every header or parameter in
	// which the API would accept one.
	ShownCredentials(r *http.Request) []string
	// Headers returns the names, in canonical form, of the headers that the agent CLI needs in addition to
	// the usual headers of HTTP clients. A name that ends in a hyphen matches all names with that
	// prefix. Other headers are not forwarded.
	Headers() []string
	// Sign removes all credentials that ShownCredentials would find in a request, and adds the real one.
	Sign(r *http.Request, key Credential)
	// Env returns the environment variables that make the agent CLI use the proxy. They are appended after
	// all others. Variables that could contain another credential are set to "".
	Env(Access) []string
	// Counter returns a counter for the response to a Paid request.
	Counter(Request) Counter
	// ErrorBody returns an error in the API's own format. The proxy encodes it as JSON.
	ErrorBody(status int, message string) any
}

// RequestClass determines what the proxy does with a request.
type RequestClass int

// The classes of requests.
const (
	Refused RequestClass = iota // not forwarded
	Free                        // forwarded
	Paid                        // forwarded if the budget permits; the tokens of the response are counted
)

// Request describes a request with a body.
type Request struct {
	Model     string // "" if the body contains no model
	Size      int64  // size of the body in bytes
	MaxOutput int64  // the maximum number of tokens in the response; 0 if the request sets no limit
	// Pictures is the number of pictures in the body. PictureBytes is their total size in bytes.
	Pictures, PictureBytes int64
	// IsUnbounded is true if the request may cost more than one token per byte plus tokensPerPicture per
	// picture.
	IsUnbounded bool
	// VendorTools are the tools that the vendor would run, by their names in the API, for example web_search.
	VendorTools []string
	// Fetches is the name of a field that would make the vendor fetch something from another server. It
	// is "" if there is no such field.
	Fetches string
	// UnknownFields are the top-level fields that RequestFields.Known doesn't contain.
	UnknownFields []string
	// CachesForHour is true if the request makes the vendor keep something in its cache for an hour.
	CachesForHour bool
}

// Credential is a credential for a vendor's API.
type Credential struct {
	Text    string
	IsToken bool // the credential is a token of a subscription, not an API key
}

// Access contains what one invocation of an agent CLI needs to reach its API.
type Access struct {
	// URL is the address to which the CLI appends the API's paths. It has no slash at the end.
	URL string
	// Credential is what the CLI must send. It is valid only for this proxy and while the account is open.
	Credential string
	IsToken    bool // the real credential is a token of a subscription
	IsDirect   bool // requests go to the vendor's own server (API.Upstream), not to a gateway
	// Environ is the part of the job's environment that the CLI gets (Options.Environ).
	Environ []string
}

// Counter counts the tokens of one response while the response passes through the proxy. Events and
// responses that are too long to be buffered are not passed to it. Only one goroutine calls it at a
// time.
type Counter interface {
	// Event processes the data of one event in a stream.
	Event(data []byte)
	// Whole processes a response that is not a stream.
	Whole(data []byte)
	// Message returns the counts so far. It returns nil before the message has begun. If the API reports an
	// error instead of a message, it returns a message whose counts are final and 0.
	Message() *Message
}

// Vendor configures an API to which the proxy forwards requests.
type Vendor struct {
	API API
	// Upstream is the URL to which requests are forwarded, for example the URL of a gateway. If it is
	// empty, API.Upstream is used.
	Upstream   string
	Credential Credential // the real credential for the API
	Headers    []string   // names, in canonical form, of additional headers that a gateway needs
}
