package program

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
)

// Errors are the words of an agent CLI by which its errors are told apart. Those of errors that another try won't cure count
// before the API's status.
type Errors struct {
	Authentication, Billing, Model, Request []string // what is wrong

	Service []string // of errors that are the moment's and the service's: refused or cut connections, time-outs, overload
}

// setup are the words of connections that will not come about in a moment: a name that can't be resolved, no way there, a
// certificate that is not believed. The first are those of Node, the others those of Rust and of Go, which the key proxy
// passes on.
var setup = []string{
	"ENOTFOUND", "EAI_AGAIN", "FailedToOpenSocket", "ENETUNREACH", "ENETDOWN", "EHOSTUNREACH", "EHOSTDOWN", "ERR_PROXY_TUNNEL",
	"certificate", "SSL", "_CERT", "CERT_", "dns error", "failed to lookup",
	"dial tcp: lookup ", "no such host", "no route to host", "network is unreachable", "x509: ", "tls: ", "HTTP response to HTTPS client",
}

// Failure says what an error means that a CLI reports: by its words and the status of the API, 0 for none. text is what people
// are told of it.
func (e Errors) Failure(words string, status int, text string) *runner.Failure {
	has := func(part string) bool { return strings.Contains(words, part) }
	what := permanentStatus(status)
	switch {
	case slices.ContainsFunc(e.Authentication, has):
		what = "authentication"
	case slices.ContainsFunc(e.Billing, has):
		what = "billing"
	case slices.ContainsFunc(e.Model, has):
		what = "unknown model"
	case slices.ContainsFunc(e.Request, has):
		what = "bad request"
	}
	if what != "" {
		return Fatal("%s: %s", what, text)
	}
	f := Transient("the agent CLI reports: %s", text)
	if (isMoments(status) || slices.ContainsFunc(e.Service, has)) && !slices.ContainsFunc(setup, has) {
		f.Class = runner.Service
	}
	return f
}
