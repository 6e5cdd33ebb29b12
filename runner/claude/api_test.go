package claude

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
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

// TestAnswersAreCounted: searches cost a cent each, and other calls of tools of the API their tokens, or nobody knows what.
func TestAnswersAreCounted(t *testing.T) {
	const whole = `{"type":"message","model":"sonnet[1m]","usage":{"input_tokens":1000,"output_tokens":9,"cache_creation_input_tokens":20,"cache_creation":%s,%s}}`
	for rest, want := range map[[2]string]state.Usage{
		{`{"ephemeral_1h_input_tokens":15}`, `"cache_read_input_tokens":300`}:                                {CacheHour: 15, CacheRead: 300},
		{`5`, `"server_tool_use":{"web_search_requests":2,"web_fetch_requests":1,"tool_search_requests":1}`}: {Surcharge: state.Dollar / 50},
		{`null`, `"server_tool_use":{"x_requests":3}`}:                                                       {HasFees: true},
	} {
		want.Model, want.Input, want.Output, want.CacheWrite = "sonnet", 1000, 9, 20
		var c counter
		if c.Whole(fmt.Appendf(nil, whole, rest[0], rest[1])); c.Message().Usage != want {
			t.Errorf("%s: got %+v, want %+v", rest, c.Message().Usage, want)
		}
	}
}
