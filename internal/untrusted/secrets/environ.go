package secrets

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Of returns the variables of an environment that contain secrets according to their names, and the
// passwords in URLs of other variables.
func Of(env []string) map[string]string {
	values := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if IsSecret(name) {
			values[name] = value
		}
		for i, m := range password().FindAllStringSubmatch(value, -1) {
			if len(m[1]) < MinLength {
				continue // Redactor.Text hides it within a URL
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

// Strip returns an environment without the variables that contain secrets or are withheld.
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

// Redactor masks the secrets of an environment that have MinLength bytes or more, in all forms of a
// Set, and passwords in URLs. It is immutable and safe for concurrent use.
type Redactor struct{ set *Set }

// NewRedactor returns a Redactor for an environment, which may be nil.
func NewRedactor(env []string) Redactor {
	set, _ := New(Of(env))
	return Redactor{set}
}

// login matches the user name and password in a URL.
var login = text.Regexp(`://[^/\s"'@]+@`)

// Text returns a text with all secrets masked.
func (r Redactor) Text(s string) string {
	s = r.set.Text(s)
	if !strings.Contains(s, "://") {
		return s
	}
	return login().ReplaceAllString(s, "://"+hidden+"@")
}

// Tail is Text for the end of a longer text. It also removes a partial secret or login at the
// beginning.
func (r Redactor) Tail(s string) string {
	login := loginRest().FindString(s[:min(len(s), maxLogin)])
	return r.Text(s[max(r.set.PartialPrefix(s), len(login)):])
}

// Environ returns the environment for display: the values of secret variables are masked, and so are
// secrets in other values.
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

// maxLogin is longer than any login in a URL, in bytes.
const maxLogin = 4096

// loginRest matches the end of a login at the beginning of a text.
var loginRest = text.Regexp(`^:?/{0,2}[^/\s"'@]*@`)
