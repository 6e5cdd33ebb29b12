package proc

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
)

// hidden stands for the value of a secret.
const hidden = "***"

// secretNames are parts of the names of variables that hold secrets. Rather a
// name too many is hidden than one too few.
var secretNames = []string{
	"KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "_PASS", "_PWD", "CREDENTIAL",
	"AUTH", "COOKIE", "DSN", "WEBHOOK",
}

// harmless are beginnings of names that look like those of secrets. What follows
// them is needed in logs and by commands.
var harmless = []string{"GIT_AUTHOR_", "SSH_AUTH_SOCK", "XAUTHORITY"}

// isSecret says whether a variable of this name is taken for a secret.
func isSecret(name string) bool {
	name = strings.ToUpper(name)
	beginsName := func(part string) bool { return strings.HasPrefix(name, part) }
	if slices.ContainsFunc(harmless, beginsName) {
		return false
	}
	inName := func(part string) bool { return strings.Contains(name, part) }
	return strings.HasPrefix(name, "ACTIONS_") || slices.ContainsFunc(secretNames, inName)
}

// hider replaces the values of the secrets of an environment, in all their forms.
type hider struct{ secrets *secrets.Set }

// newHider collects the secrets. Short values are not looked for elsewhere: they
// would hit words that are none.
func newHider(env []string) hider {
	values := map[string]string{}
	for i, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if isSecret(name) {
			values[strconv.Itoa(i)] = value
		}
	}
	secrets, _ := secrets.New(values)
	return hider{secrets}
}

// environment hides the values of secret variables, and secrets in other values.
func (h hider) environment(env []string) map[string]string {
	clean := make(map[string]string, len(env))
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if isSecret(name) && value != "" {
			value = hidden
		}
		clean[name] = h.text(value)
	}
	return clean
}

// all hides the secrets in each text.
func (h hider) all(texts []string) []string {
	clean := make([]string, len(texts))
	for i, text := range texts {
		clean[i] = h.text(text)
	}
	return clean
}

// login is the part of a URL that may have a password.
var login = regexp.MustCompile(`://[^/\s"'@]+@`)

func (h hider) text(s string) string {
	s = h.secrets.Text(s)
	if !strings.Contains(s, "://") {
		return s
	}
	return login.ReplaceAllString(s, "://"+hidden+"@")
}
