package keyproxy

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestEnvironmentOfTheCLI checks that each account has a different address and credential, and that NO_PROXY
// keeps the CLI from connecting to the key proxy through a proxy of the job.
func TestEnvironmentOfTheCLI(t *testing.T) {
	for name, c := range map[string]struct{ environ, before, want []string }{
		"nothing": {nil, nil, []string{"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1"}},
		"one":     {[]string{"NO_PROXY=a, .b"}, nil, []string{"NO_PROXY=a, .b,127.0.0.1", "no_proxy=a, .b,127.0.0.1"}},
		"two":     {[]string{"no_proxy=x", "NO_PROXY=y,127.0.0.1"}, nil, []string{"NO_PROXY=y,127.0.0.1", "no_proxy=y,127.0.0.1"}},
		"all":     {[]string{"NO_PROXY=old", "NO_PROXY=*"}, nil, []string{"NO_PROXY=*", "no_proxy=*"}},
		"caged":   {[]string{"NO_PROXY=*"}, []string{"NO_PROXY=a,127.0.0.1", "no_proxy=a,127.0.0.1"}, []string{"NO_PROXY=a,127.0.0.1", "no_proxy=a,127.0.0.1"}},
	} {
		p := start(t, Options{Vendors: vendors(""), Environ: c.environ})
		a, b := p.Open(toy, ""), p.Open(toy, "")
		want := append([]string{"TOY_URL=http://" + p.address + "/i/toy/" + a.token, "TOY_KEY=" + a.credential}, c.want...)
		assert.Check(t, is.DeepEqual(a.Env(c.before), want), name)
		assert.Check(t, a.credential != b.credential && len(a.credential) >= 20 && a.token != b.token, "%s: credentials %q and %q, paths %q and %q, want others for each account", name, a.credential, b.credential, a.token, b.token)
	}
	a := start(t, Options{Vendors: vendors("")}).Open("other", "")
	assert.Check(t, is.Nil(a), "an agent CLI without a key")
}
