package keyproxy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironmentOfTheCLI(t *testing.T) {
	const tools = "ENABLE_TOOL_SEARCH=true"
	for name, c := range map[string]struct {
		options Options
		want    []string
	}{
		"key": {Options{APIKey: realKey}, []string{
			"ANTHROPIC_AUTH_TOKEN=", "ANTHROPIC_API_KEY=CREDENTIAL", "CLAUDE_CODE_OAUTH_TOKEN=", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", tools}},
		"both": {Options{APIKey: realKey, OAuthToken: realToken, Environ: []string{"NO_PROXY=a, .b"}}, []string{
			"ANTHROPIC_AUTH_TOKEN=", "ANTHROPIC_API_KEY=CREDENTIAL", "CLAUDE_CODE_OAUTH_TOKEN=", "NO_PROXY=a,.b,127.0.0.1", "no_proxy=a,.b,127.0.0.1", tools}},
		"token": {Options{OAuthToken: realToken, Environ: []string{"ENABLE_TOOL_SEARCH=false", "no_proxy=x,127.0.0.1", "NO_PROXY=y"}}, []string{
			"ANTHROPIC_AUTH_TOKEN=", "CLAUDE_CODE_OAUTH_TOKEN=CREDENTIAL", "ANTHROPIC_API_KEY=", "NO_PROXY=y,127.0.0.1", "no_proxy=x,127.0.0.1"}},
		"gateway": {Options{APIKey: realKey, Upstream: "https://gateway.example/x", Environ: []string{"NO_PROXY=old", "NO_PROXY=*"}}, []string{
			"ANTHROPIC_AUTH_TOKEN=", "ANTHROPIC_API_KEY=CREDENTIAL", "CLAUDE_CODE_OAUTH_TOKEN=", "NO_PROXY=*", "no_proxy=*"}},
	} {
		p := start(t, c.options)
		var got []string
		for _, entry := range p.Env()[1:] {
			got = append(got, strings.ReplaceAll(entry, p.credential, "CREDENTIAL"))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || p.Env()[0] != "ANTHROPIC_BASE_URL=http://"+p.address {
			t.Errorf("%s: %q, then (-want +got):\n%s", name, p.Env()[0], diff)
		}
		if other := start(t, c.options); other.credential == p.credential || len(p.credential) < 20 {
			t.Errorf("%s: credential %q, of another proxy %q", name, p.credential, other.credential)
		}
	}
}
