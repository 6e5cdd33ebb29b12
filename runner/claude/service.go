package claude

import (
	"net/http"
	"slices"
	"strings"
)

// serviceKinds are the CLI's names for errors that are the service's.
var serviceKinds = []string{"rate_limit", "overloaded", "server_error"}

// serviceTexts are what the CLI says where it names neither status nor kind: of
// connections that were refused, reset or cut, of time-outs, of overload.
var serviceTexts = []string{
	"ECONNREFUSED", "ConnectionRefused", "ECONNRESET", "EPIPE", "ECONNABORTED", "ConnectionClosed", "ERR_SOCKET_CLOSED",
	"UND_ERR_SOCKET", "ETIMEDOUT", "Request timed out", "Overloaded", "overloaded_error",
}

// setupTexts are of connections that will not come about in a moment: a name that
// can't be resolved, no way there, a certificate that is not believed. The first
// are the CLI's words, the others those of Go, which the key proxy passes on.
var setupTexts = []string{
	"ENOTFOUND", "EAI_AGAIN", "FailedToOpenSocket", "ENETUNREACH", "ENETDOWN", "EHOSTUNREACH", "EHOSTDOWN", "ERR_PROXY_TUNNEL",
	"certificate", "SSL", "_CERT", "CERT_",
	"dial tcp: lookup ", "no such host", "no route to host", "network is unreachable", "x509: ", "tls: ", "HTTP response to HTTPS client",
}

// isService says whether an error is the moment's and the service's. It is asked
// when the error is known to be none that stays.
func isService(kind string, r *result, text string) bool {
	has := func(part string) bool { return strings.Contains(text, part) }
	status := r.APIErrorStatus
	switch {
	case slices.ContainsFunc(setupTexts, has):
		return false
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500:
		return true
	}
	return status == 0 && (slices.Contains(serviceKinds, kind) || slices.ContainsFunc(serviceTexts, has))
}
