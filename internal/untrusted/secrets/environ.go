package secrets

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Of returns the secrets in an environment by name: the values of variables whose names indicate a secret,
// and the passwords in URLs in all variables.
func Of(env []string) map[string]string {
	values := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if IsSecret(name) {
			values[name] = value
		}
		for i, m := range password().FindAllStringSubmatch(value, -1) {
			if len(m[1]) < MinLength {
				continue // too short for a Set; Redactor.Text masks the user name and the password together
			}
			values[fmt.Sprintf("%s (password %d)", name, i+1)] = m[1]
			if plain, err := url.PathUnescape(m[1]); err == nil {
				values[fmt.Sprintf("%s (password %d, decoded)", name, i+1)] = plain
			}
		}
	}
	return values
}

// password matches the password in a URL.
var password = text.Regexp(`://[^/\s"'@:]*:([^/\s"'@]+)@`)

// Strip returns an environment without the variables for which IsSecret or IsWithheld returns true.
func Strip(env []string) []string {
	var out []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !IsSecret(name) && !IsWithheld(name) {
			out = append(out, entry)
		}
	}
	return out
}

// Redactor masks the secrets of an environment that have at least MinLength bytes, in all forms of a Set,
// and logins in URLs. It is immutable and safe for concurrent use.
type Redactor struct{ set *Set }

// NewRedactor returns a Redactor for the secrets in an environment, which may be nil.
func NewRedactor(env []string) Redactor {
	set, _ := New(Of(env))
	return Redactor{set}
}

// login matches the user name and the password in a URL.
var login = text.Regexp(`://[^/\s"'@]+@`)

// Text returns a text in which all secrets are masked.
func (r Redactor) Text(s string) string {
	s = r.set.Text(s)
	if !strings.Contains(s, "://") {
		return s
	}
	return login().ReplaceAllString(s, "://"+hidden+"@")
}

// Tail is like Text for the end of a longer text. If the text begins with the end of a secret or of a login,
// Tail removes it.
func (r Redactor) Tail(s string) string {
	login := loginRest().FindString(s[:min(len(s), maxLogin)])
	return r.Text(s[max(r.set.PartialPrefix(s), len(login)):])
}

// Environ returns the variables of an environment for display. The values of secret variables are masked.
// Secrets that occur in other values are masked too.
func (r Redactor) Environ(env []string) map[string]string {
	clean := make(map[string]string, len(env))
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if IsSecret(name) && value != "" {
			value = hidden
		}
		clean[name] = r.Text(value)
	}
	return clean
}

// maxLogin is the maximum length of a login in a URL, in bytes.
const maxLogin = 4096

// loginRest matches the end of a login at the beginning of a text.
var loginRest = text.Regexp(`^:?/{0,2}[^/\s"'@]*@`)
