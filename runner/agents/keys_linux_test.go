package agents

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/codex/codextest"
	"github.com/raymond-action/raymond-action/runner/gemini/geminitest"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// The tests of this file run the real CLIs behind the key proxy. Those with Claude Code are
// in runner/claude.

// dump is a command that tells what a tool can find out by itself: its own environment, and
// the environment and the arguments of each of its ancestors. Gemini CLI runs no command with
// a substitution in it.
const dump = `env; p=$$; while [ "$p" -gt 1 ]; do tr '\0' '\n' <"/proc/$p/environ"; tr '\0' ' ' <"/proc/$p/cmdline"; ` +
	`sed 's/.*) . //' "/proc/$p/stat" >stat; read p rest <stat; done 2>/dev/null; echo "dumped to the end"`

// model is a scripted model that has a command run, and says "done" when it sees the output.
type model struct {
	mu    sync.Mutex
	asked []agenttest.Asked
}

func (m *model) reply(a agenttest.Asked) agenttest.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, a)
	if a.Output != "" {
		return agenttest.Reply{Text: "done", Input: 1000, Output: 10}
	}
	// With more tokens the CLIs would shorten the conversation.
	return agenttest.Reply{Shell: dump, Input: 50_000, Cached: 1000, Output: 10}
}

func (m *model) all() []agenttest.Asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// guarded are the vendors whose CLIs are tried here, and what is below the URL that the job
// names for their API.
var guarded = []struct {
	agenttest.Vendor
	below, model, key string
}{
	{codextest.Vendor{}, "/v1", "gpt-5.1-codex", "sk-real-key-of-codex-0123456789"},
	{geminitest.Vendor{}, "", "gemini-2.5-pro", "AIza-real-key-of-gemini-0123456789"},
}

// behind runs a prompt with one CLI behind a proxy that has the keys of all vendors, and
// returns what it brought, and what its API was asked.
func behind(t *testing.T, backend string, budget state.USD) (runner.Answer, *runner.Failure, []agenttest.Asked) {
	t.Helper()
	o := keyproxy.Options{Price: func(u state.Usage) (state.USD, bool) { return state.Dollar * state.USD(u.Input) / 1e5, true }}
	m, c := &model{}, Config{Paths: map[string]string{}}
	order := runner.Order{Dir: t.TempDir(), Mark: uuid.NewString(), Prompt: runner.PromptOrder{
		Backend: backend, Text: "go", Session: state.Fresh, SessionID: uuid.NewString(), Permissions: runner.Permissions{SkipPermissions: true},
	}}
	home := t.TempDir()
	for _, v := range guarded {
		url := v.Serve(t, m.reply) + v.below
		for _, api := range APIs() {
			if api.Backend() == v.Name() {
				o.Vendors = append(o.Vendors, keyproxy.Vendor{API: api, Upstream: url, Credential: keyproxy.Credential{Text: v.key}})
			}
		}
		if v.Name() == backend {
			c.Paths[backend], order.Prompt.Model = v.Install(t), v.model
			c.Env = slices.DeleteFunc(v.Environ("http://127.0.0.1:1", home), func(entry string) bool {
				return strings.Contains(entry, "_KEY=") || strings.Contains(entry, "_URL=") || strings.HasPrefix(entry, "NO_PROXY=")
			})
			c.Env = append(c.Env, "TMPDIR="+t.TempDir(), "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1") // where nobody answers
		}
	}
	p, err := keyproxy.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	p.Allow(budget, nil)
	c.Proxy = p
	a, err := New(c)[backend].Run(t.Context(), order, func(runner.Progress) {})
	var f *runner.Failure
	if err != nil && !errors.As(err, &f) {
		t.Fatal(err)
	}
	return a, f, m.all()
}

// TestContractAgentsOfAVendorFindNoKey: neither that of its own vendor nor anything by which
// another one's API could be asked. The API alone gets to see the real key.
func TestContractAgentsOfAVendorFindNoKey(t *testing.T) {
	t.Parallel()
	for _, v := range guarded {
		t.Run(v.Name(), func(t *testing.T) {
			t.Parallel()
			a, f, asked := behind(t, v.Name(), state.MostUSD)
			if f != nil || a.Text != "done" {
				t.Fatalf("got %q, %v, want \"done\"", a.Text, f)
			}
			output := asked[len(asked)-1].Output
			for _, request := range asked {
				if request.Key != v.key {
					t.Errorf("the API got the key %q, want %q", request.Key, v.key)
				}
			}
			if !strings.Contains(output, "dumped to the end") || !strings.Contains(output, "HTTP_PROXY") {
				t.Errorf("the tool saw %q, want the environment of all its ancestors", output)
			}
			for _, backend := range protocol.Backends() {
				if backend != v.Name() && strings.Contains(output, "/i/"+backend+"/") {
					t.Errorf("the tool found the way to the API of %s:\n%s", backend, output)
				}
			}
			if strings.Contains(output, "real-key") {
				t.Errorf("the tool found a key:\n%s", output)
			}
			if got := a.Cost.Metered; len(got) != 1 || got[0] != (state.Usage{Model: v.model, Input: 51_000, CacheRead: 1000, Output: 20}) {
				t.Errorf("metered: got %+v, want both answers", got)
			}
		})
	}
}

// TestContractSpentBudgetsEndTheCLI: it takes the refusal for its end, at once, and what it
// has used by then is known.
func TestContractSpentBudgetsEndTheCLI(t *testing.T) {
	t.Parallel()
	for _, v := range guarded {
		t.Run(v.Name(), func(t *testing.T) {
			t.Parallel()
			a, f, asked := behind(t, v.Name(), state.Dollar/4)
			if f == nil || f.Class != runner.OverBudget || !f.Continue || len(asked) != 1 {
				t.Errorf("got %v after %d requests, want class %s after 1", f, len(asked), runner.OverBudget)
			}
			if got := a.Cost.Metered; len(got) != 1 || got[0].Input != 50_000 {
				t.Errorf("metered: got %+v, want 50,000 tokens of input", got)
			}
		})
	}
}
