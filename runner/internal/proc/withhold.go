package proc

import (
	"regexp"
	"strings"
)

// WithoutSecrets returns the environment less the variables whose names say that
// they hold a secret.
func WithoutSecrets(env []string) []string {
	var out []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !isSecret(name) {
			out = append(out, entry)
		}
	}
	return out
}

// Redactor returns a function that replaces in a text the values of those
// variables of env that hold secrets, as far as they have 8 bytes or more and also
// when they are encoded (see package mask), and passwords in URLs.
func Redactor(env []string) func(string) string {
	return newHider(env).text
}

// EndRedactor is like Redactor for texts whose beginning was dropped: it drops
// what may be the rest of a secret or of a login that began before, too.
func EndRedactor(env []string) func(string) string {
	h := newHider(env)
	return func(text string) string {
		return h.text(text[max(h.secrets.Rest(text), restOfLogin(text)):])
	}
}

// maxLogin is longer than the logins in URLs are, in bytes.
const maxLogin = 4096

// loginRest is what a text begins with that was cut inside of a login.
var loginRest = regexp.MustCompile(`^:?/{0,2}[^/\s"'@]*@`)

// restOfLogin is the length of the beginning of a text that is the end of a login.
func restOfLogin(text string) int {
	return len(loginRest.FindString(text[:min(len(text), maxLogin)]))
}

// Secrets returns those variables of env that hold secrets, as their names say.
func Secrets(env []string) map[string]string {
	values := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if isSecret(name) {
			values[name] = value
		}
	}
	return values
}
