package codex

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	ct "github.com/raymond-action/raymond-action/runner/codex/codextest"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// dump is a command that tells what a tool can find out by itself: its own environment, and
// that of each of its ancestors.
const dump = `env; p=$PPID; while [ "$p" -gt 1 ]; do tr '\0' '\n' <"/proc/$p/environ"; ` +
	`p=$(sed 's/.*) . //' "/proc/$p/stat" | cut -d' ' -f1); done; echo "dumped to $p"`

// proxied returns a backend without a key, and the proxy that has it.
func proxied(t *testing.T, s *ct.Server) (*Backend, *keyproxy.Proxy) {
	t.Helper()
	p, err := keyproxy.Start(keyproxy.Options{
		Vendors: []keyproxy.Vendor{{API: API{}, Upstream: s.URL + "/v1", Credential: keyproxy.Credential{Text: ct.Key}}},
		Price:   func(u state.Usage) (state.USD, bool) { return state.USD(u.Output) * state.Dollar, true },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	b := started(t, s, "OPENAI_API_KEY=", "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=")
	b.Proxy = p
	return b, p
}

// TestContractToolsDoNotFindTheKey: the API alone gets to see it. What was used is counted by
// the proxy as by the CLI.
func TestContractToolsDoNotFindTheKey(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, model("dump", agenttest.Reply{Shell: dump, Input: 1000, Cached: 100, Output: 3}))
	b, _ := proxied(t, s)
	o := order(t, "dump")
	o.Prompt.Permissions.SkipPermissions, o.Prompt.Model = true, "gpt-5.5"
	a := answer(t, b, o)
	if !strings.Contains(a.Text, "OPENAI_BASE_URL=http://127.0.0.1:") || !strings.Contains(a.Text, "dumped to") || strings.Contains(a.Text, ct.Key) {
		t.Errorf("the tool found %s\nwant the proxy's address and no key", a.Text)
	}
	for _, asked := range s.Asked() {
		if asked.Key != ct.Key {
			t.Errorf("the API got the key %q, want %q", asked.Key, ct.Key)
		}
	}
	want := []state.Usage{{Model: "gpt-5.5", Input: 1100, CacheRead: 100, Output: 23}}
	if diff := cmp.Diff(want, a.Cost.Metered); diff != "" {
		t.Errorf("metered (-want +got):\n%s", diff)
	}
	used(t, "told", a, want...)
}

// TestContractSpentBudget: with the budget used up no further request is forwarded, and the
// invocation may be continued.
func TestContractSpentBudget(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, model("work", agenttest.Reply{Shell: "true", Input: 10, Output: 3}))
	b, p := proxied(t, s)
	p.Allow(2*state.Dollar, nil)
	o := order(t, "work")
	o.Prompt.Permissions.SkipPermissions = true
	a, f, _ := run(t.Context(), t, b, o)
	if f == nil || f.Class != runner.OverBudget || !f.Continue || len(s.Asked()) != 1 || a.Cost.Silent {
		t.Errorf("got %+v, cost %+v after %d requests, want the budget spent after one", f, a.Cost, len(s.Asked()))
	}
}
