package keyproxy

import (
	"io"
	"net/http"
)

// API is what the proxy knows of the API of one vendor. Its methods may be called by many
// goroutines at once.
type API interface {
	// Backend is the agent CLI that asks it, one of protocol.Backends.
	Backend() string
	// Upstream is the URL below which the vendor itself serves it.
	Upstream() string
	// Classify says what is done with a request, whose URL has the path below the upstream,
	// in the form in which it was sent (EscapedPath). What no agent CLI needs is Refused.
	Classify(r *http.Request) RequestClass
	// Read reads the body of a request, and returns what it asks for, without
	// the size. The error says for people why the request is not forwarded: because its cost
	// could not be counted, for one.
	Read(r *http.Request, body io.Reader) (Request, error)
	// ShownCredentials returns what a request may show as its credential, from each place where the
	// API would look for one.
	ShownCredentials(r *http.Request) []string
	// Headers are the names of the headers that the agent CLI needs, in canonical form, besides those that every HTTP client
	// sends. A name that ends in a hyphen stands for all names that begin so. Other headers are not forwarded.
	Headers() []string
	// Sign takes everything that Shown looks at off a request, and puts the real credential
	// in its place.
	Sign(r *http.Request, key Credential)
	// Env is what the agent CLI gets in its environment, behind everything else, so that it
	// uses the proxy. It blanks the variables that might hold another credential.
	Env(Access) []string
	// Counter counts one answer to a request that is Paid.
	Counter(Request) Counter
	// ErrorBody is the body, as JSON, with which the API would tell an error.
	ErrorBody(status int, message string) any
}

// RequestClass is what is done with a request.
type RequestClass int

// The services.
const (
	Refused RequestClass = iota // not forwarded
	Free                        // forwarded
	Paid                        // forwarded as far as the budget allows, and counted
)

// Request is what is known of a request with a body.
type Request struct {
	Model     string // "" where it names none
	Size      int64  // of its body, in bytes
	MaxOutput int64  // the most tokens of the answer; 0 where it names no number
	// Pictures are how many pictures it has, and Packed is how many bytes of the body they are.
	Pictures, PictureBytes int64
	// IsUnbounded says that the request may cost more than its bytes and pictures counted as tokens.
	IsUnbounded bool
	// VendorTools are what the vendor is asked to run, such as searches, by the names in its API.
	VendorTools []string
	// Fetches names something that the vendor would get from elsewhere; "" for nothing. Unknown are
	// fields that nobody knows.
	Fetches       string
	UnknownFields []string
	CachesForHour bool // something is to be kept in the cache for an hour
}

// Credential is what a vendor's API gets.
type Credential struct {
	Text    string
	IsToken bool // of a subscription, not an API key
}

// Access is how one invocation of an agent CLI reaches its API.
type Access struct {
	URL        string // to which it adds the paths of the API; it has no slash at the end
	Credential string // that it has to show; it is worth nothing elsewhere or later
	IsToken    bool   // it stands for a Credential that is a token
	IsDirect   bool   // its requests go to API.Upstream, not to a gateway
	Environ    []string
}

// Counter counts the tokens of one answer as it passes. It is not given what is too long to be kept.
// Only one goroutine calls it at a time.
type Counter interface {
	// Event takes the data of one event of a stream.
	Event(data []byte)
	// Whole takes an answer that is no stream.
	Whole(data []byte)
	// Message returns what was counted so far; nil before the answer has begun. An error that
	// the API reports instead of an answer is a message that is counted and has no tokens.
	Message() *Message
}

// Vendor is an API that the proxy forwards to.
type Vendor struct {
	API API
	// Upstream is the URL of the API, when it is not API.Upstream, such as that of a
	// gateway; "" for the vendor's own.
	Upstream   string
	Credential Credential // what the API gets
	Headers    []string   // names, in canonical form, of headers that a gateway needs besides those of the API
}
