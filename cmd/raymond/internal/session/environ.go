package session

import (
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
)

// modelKeys are withheld in a job, where a proxy adds them on the way. At a shell
// the agent CLI reads them itself.
var modelKeys = map[string]bool{"ANTHROPIC_API_KEY": true, "CLAUDE_CODE_OAUTH_TOKEN": true}

// Environ returns what agents and scripts of a run that was started at a
// shell inherit: everything but what a job withholds too.
func Environ(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if modelKeys[name] || !secrets.IsWithheld(name) {
			out = append(out, kv)
		}
	}
	return out
}
