package claude

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

func TestEnvironmentOfTheCLI(t *testing.T) {
	const tools = "ENABLE_TOOL_SEARCH=true"
	for name, c := range map[string]struct {
		access keyproxy.Access
		want   []string
	}{
		"key":     {keyproxy.Access{IsDirect: true}, []string{"ANTHROPIC_API_KEY=CREDENTIAL", "CLAUDE_CODE_OAUTH_TOKEN=", tools}},
		"token":   {keyproxy.Access{IsDirect: true, IsToken: true}, []string{"CLAUDE_CODE_OAUTH_TOKEN=CREDENTIAL", "ANTHROPIC_API_KEY=", tools}},
		"chosen":  {keyproxy.Access{IsDirect: true, Environ: []string{"ENABLE_TOOL_SEARCH=false"}}, []string{"ANTHROPIC_API_KEY=CREDENTIAL", "CLAUDE_CODE_OAUTH_TOKEN="}},
		"gateway": {keyproxy.Access{}, []string{"ANTHROPIC_API_KEY=CREDENTIAL", "CLAUDE_CODE_OAUTH_TOKEN="}},
	} {
		c.access.URL, c.access.Credential = "http://127.0.0.1:1/i", "CREDENTIAL"
		want := append([]string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1/i", "ANTHROPIC_AUTH_TOKEN="}, c.want...)
		assert.Check(t, is.DeepEqual(API{}.Env(c.access), want), name)
	}
}
