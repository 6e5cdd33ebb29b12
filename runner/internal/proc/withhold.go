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
// what may be the rest of a secret or of a URL that began before, too. The second
// value is how many bytes of a text before the part that is wanted must be there
// for a secret to be seen as a whole.
func EndRedactor(env []string) (func(string) string, int) {
	values, hide := secretValues(env), newHider(env)
	longest := minContext
	if len(values) > 0 {
		longest = max(longest, len(values[0]))
	}
	return func(text string) string { return hide.text(text[restOf(values, text):]) }, longest
}

// minContext is enough for the URLs that have a password in them.
const minContext = 4096

// loginRest is what a text begins with that was cut inside of a login.
var loginRest = regexp.MustCompile(`^[^/\s"'@]*@`)

// restOf is the length of the longest beginning of a text that is the end of one
// of the values, or of a login.
func restOf(values []string, text string) int {
	longest := len(loginRest.FindString(text[:min(len(text), minContext)]))
	for _, value := range values {
		for n := min(len(value)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(value, text[:n]) {
				longest = n
			}
		}
	}
	return longest
}
