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
// variables of env that hold secrets, as far as they have 8 bytes or more, and
// passwords in URLs.
func Redactor(env []string) func(string) string {
	return newHider(env).text
}

// EndRedactor is like Redactor for texts whose beginning was dropped: it drops
// what may be the rest of a secret or of a login that began before, too.
func EndRedactor(env []string) func(string) string {
	values, hide := secretValues(env), newHider(env)
	return func(text string) string { return hide.text(text[restOf(values, text):]) }
}

// maxLogin is longer than the logins in URLs are, in bytes.
const maxLogin = 4096

// loginRest is what a text begins with that was cut inside of a login.
var loginRest = regexp.MustCompile(`^:?/{0,2}[^/\s"'@]*@`)

// restOf is the length of the longest beginning of a text that is the end of one
// of the values, or of a login.
func restOf(values []string, text string) int {
	longest := len(loginRest.FindString(text[:min(len(text), maxLogin)]))
	for _, value := range values {
		for n := min(len(value)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(value, text[:n]) {
				longest = n
			}
		}
	}
	return longest
}
