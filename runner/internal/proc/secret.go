package proc

import (
	"regexp"
	"strings"
)

// hidden stands for the value of a secret.
const hidden = "***"

// secretNames are parts of the names of variables that hold secrets. Rather one
// name too many is hidden than one too few.
var secretNames = []string{
	"KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH", "COOKIE",
	"PRIVATE", "SIGNATURE", "CERT", "DSN", "CONNECTION", "WEBHOOK", "ACTIONS_",
}

// isSecret says whether a variable of this name is taken for a secret.
func isSecret(name string) bool {
	name = strings.ToUpper(name)
	if name == "PWD" || name == "OLDPWD" {
		return false
	}
	for _, part := range secretNames {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// hider replaces the values of the secrets of an environment.
type hider struct{ secrets *strings.Replacer }

// newHider collects the secrets. Short values are not looked for elsewhere: they
// would hit words that are none.
func newHider(env []string) hider {
	var pairs []string
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if isSecret(name) && len(value) >= 8 {
			pairs = append(pairs, value, hidden)
		}
	}
	return hider{secrets: strings.NewReplacer(pairs...)}
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
	return login.ReplaceAllString(h.secrets.Replace(s), "://"+hidden+"@")
}
