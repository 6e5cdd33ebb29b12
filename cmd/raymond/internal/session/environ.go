package session

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
)

// modelKeys are the keys that Environ keeps. In a job they are withheld too, because a proxy adds them to
// requests. At a shell, the agent CLI reads them itself.
var modelKeys = map[string]bool{"ANTHROPIC_API_KEY": true, "CLAUDE_CODE_OAUTH_TOKEN": true}

// Environ returns the environment of agents and scripts in a run that was started at a shell. It contains all
// variables except the secrets that are withheld in a job too.
func Environ(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !modelKeys[name] && secrets.IsWithheld(name)
	})
}
