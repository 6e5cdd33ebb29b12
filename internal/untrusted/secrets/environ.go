package secrets

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Of returns those variables of an environment that hold secrets, as their names say,
// and the passwords in the URLs that others hold.
func Of(env []string) map[string]string {
	values := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if IsSecret(name) {
			values[name] = value
		}
		for i, m := range password().FindAllStringSubmatch(value, -1) {
			if len(m[1]) < MinLength {
				continue // Text hides it where it stands in a URL
			}
			values[fmt.Sprintf("%s (password %d)", name, i+1)] = m[1]
			if plain, err := url.PathUnescape(m[1]); err == nil {
				values[fmt.Sprintf("%s (password %d, decoded)", name, i+1)] = plain
			}
		}
	}
	return values
}

// password is the password in a URL.
var password = text.Regexp(`://[^/\s"'@:]*:([^/\s"'@]+)@`)

// Strip returns an environment less the variables that hold secrets or are withheld.
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

// Redactor hides the values of the secrets of an environment, as far as they have
// Shortest bytes or more, in all the forms of a Set, and passwords in URLs. It never
// changes and may be used by many goroutines.
type Redactor struct{ set *Set }

// NewRedactor returns the Redactor of an environment, which may be nil.
func NewRedactor(env []string) Redactor {
	set, _ := New(Of(env))
	return Redactor{set}
}

// login is the part of a URL that may have a password.
var login = text.Regexp(`://[^/\s"'@]+@`)

// Text hides the secrets in a text.
func (r Redactor) Text(s string) string {
	s = r.set.Text(s)
	if !strings.Contains(s, "://") {
		return s
	}
	return login().ReplaceAllString(s, "://"+hidden+"@")
}

// Tail is Text for a text whose beginning was dropped: it also drops what may be the
// rest of a secret, or of a login, that began before.
func (r Redactor) Tail(s string) string {
	login := loginRest().FindString(s[:min(len(s), maxLogin)])
	return r.Text(s[max(r.set.PartialPrefix(s), len(login)):])
}

// Environ returns an environment as it may be shown: without the values of variables
// that hold secrets, and without secrets in other values.
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

// maxLogin is longer than the logins in URLs are, in bytes.
const maxLogin = 4096

// loginRest is what a text begins with that was cut inside of a login.
var loginRest = text.Regexp(`^:?/{0,2}[^/\s"'@]*@`)
