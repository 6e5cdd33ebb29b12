package proc

import "strings"

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
