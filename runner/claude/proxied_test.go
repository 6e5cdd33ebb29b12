package claude_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude"
	ct "github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// The tests of this file run the real CLI.

// dump is a command that tells what a tool can find out by itself: its own
// environment, and that of each of its ancestors.
const dump = `env; p=$PPID; while [ "$p" -gt 1 ]; do tr '\0' '\n' <"/proc/$p/environ"; ` +
	`p=$(sed 's/.*) . //' "/proc/$p/stat" | cut -d' ' -f1); done; echo "dumped to $p"`

// before is the API at a URL, with a key.
func before(url string) keyproxy.Vendor {
	return keyproxy.Vendor{API: claude.API{}, Upstream: url, Credential: keyproxy.Credential{Text: "sk-ant-api03-real"}}
}

// through runs a prompt with the CLI, whose environment lacks a key, through a
// proxy.
func through(t *testing.T, s *ct.Server, v keyproxy.Vendor) (runner.Answer, error) {
	t.Helper()
	return throughOne(t, s, keyproxy.Options{Vendors: []keyproxy.Vendor{v}})
}

func throughOne(t *testing.T, s *ct.Server, o keyproxy.Options) (runner.Answer, error) {
	t.Helper()
	p, err := keyproxy.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	a, _, err := throughProxy(t, s, p, "go")
	return a, err
}

// throughProxy runs a prompt with the CLI through a proxy. It returns the lines that are told
// meanwhile, too.
func throughProxy(t *testing.T, s *ct.Server, p *keyproxy.Proxy, prompt string) (a runner.Answer, told []string, err error) {
	t.Helper()
	env := slices.DeleteFunc(ct.Env(t, s), func(entry string) bool {
		return strings.HasPrefix(entry, "ANTHROPIC_") || strings.HasPrefix(entry, "NO_PROXY=")
	})
	env = append(env, "BASH_MAX_OUTPUT_LENGTH=150000",
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1") // where nobody answers
	b := &claude.Backend{Path: ct.Install(t), Env: env, NoNewPrivs: true, Proxy: p}
	a, err = b.Run(t.Context(), runner.Order{
		Dir:     t.TempDir(),
		Mark:    uuid.NewString(),
		Telling: runner.TellAll,
		Prompt:  runner.PromptOrder{Text: prompt, Model: "sonnet", Session: state.Fresh, SessionID: uuid.NewString(), Permissions: runner.Permissions{SkipPermissions: true}},
	}, func(p runner.Progress) {
		if p.Text != "" {
			told = append(told, p.Text)
		}
	})
	return a, told, err
}

// TestContractToolsDoNotFindTheKey holds that the CLI works through the proxy, asks as it
// does with that kind of credential, and that the API alone gets to see the real
// one.
func TestContractToolsDoNotFindTheKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		real   keyproxy.Credential
		header string // what carries the credential
		want   string
		beta   bool // the CLI asks as a subscription does
	}{
		"key":   {keyproxy.Credential{Text: "sk-ant-api03-real"}, "X-Api-Key", "sk-ant-api03-real", false},
		"token": {keyproxy.Credential{Text: "sk-ant-oat01-real", IsToken: true}, "Authorization", "Bearer sk-ant-oat01-real", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ct.NewServer(t, ct.On("go", ct.Do(ct.Bash(dump), ct.Bash("grep NoNewPrivs /proc/self/status")), ct.Say("done")))
			v := before(s.URL)
			v.Credential = c.real
			a, err := through(t, s, v)
			if err != nil || a.Text != "done" {
				t.Fatalf("got %q, %v, want \"done\"", a.Text, err)
			}
			last := s.Last(t)
			if got := last.Header.Values(c.header); !slices.Equal(got, []string{c.want}) {
				t.Errorf("%s: the API got %q, want %q", c.header, got, c.want)
			}
			if beta := last.Header.Get("Anthropic-Beta"); strings.Contains(beta, "oauth-") != c.beta {
				t.Errorf("anthropic-beta: got %q, want that of a subscription: %v", beta, c.beta)
			}
			text := last.Conversation()
			if strings.Contains(text, "-real") {
				t.Errorf("the tool found the key:\n%s", text)
			}
			for _, part := range []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:", "dumped to", "NoNewPrivs:\t1"} {
				if !strings.Contains(text, part) {
					t.Errorf("want %q in:\n%s", part, text)
				}
			}
		})
	}
}

// TestContractFaultsPassThroughTheProxy holds that the CLI takes an unreachable API for a
// passing fault and tries again, and that it is told the API's own errors.
func TestContractFaultsPassThroughTheProxy(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, ct.On("", ct.Fail(401)))
	var told atomic.Int32
	for name, c := range map[string]struct {
		upstream string
		class    runner.Class
		tries    int32 // of which the log tells, at least
	}{
		"nobody there": {"http://127.0.0.1:1", runner.Service, 2},
		"key refused":  {s.URL, runner.Fatal, 0},
	} {
		told.Store(0)
		_, err := throughOne(t, s, keyproxy.Options{Vendors: []keyproxy.Vendor{before(c.upstream)}, Log: func(string) { told.Add(1) }})
		var f *runner.Failure
		if !errors.As(err, &f) || f.Class != c.class || strings.Contains(f.Message, "-real") || told.Load() < c.tries {
			t.Errorf("%s: got %v after %d attempts, want class %s after at least %d", name, err, told.Load(), c.class, c.tries)
		}
	}
}

// began is what the cut answers of these tests begin with.
var began = ct.Usage{Input: 100_000, Output: 500, CacheWrite: 1000, CacheRead: 5000}

// all is what an invocation used: by its result record, and beyond that.
func all(c state.Cost) (sum state.Usage) {
	list := slices.Clone(c.Beyond)
	for _, m := range c.Usage {
		list = append(list, m.Usage)
	}
	for _, u := range list {
		sum.Input, sum.Output = sum.Input+u.Input, sum.Output+u.Output
		sum.CacheWrite, sum.CacheRead = sum.CacheWrite+u.CacheWrite, sum.CacheRead+u.CacheRead
	}
	return sum
}

// TestContractLostConnectionsAreCounted: an answer whose connection was lost, and for which
// the CLI asked again by itself, is paid for too.
func TestContractLostConnectionsAreCounted(t *testing.T) {
	t.Parallel()
	for _, at := range []ct.Point{ct.Middle, ct.Start, ct.End} {
		if at != ct.Middle && !ct.IsFull() {
			continue
		}
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			s := ct.NewServer(t, ct.Rule{
				FailFirst: 1, Fail: ct.Reply{Blocks: []ct.Block{ct.Text("half of it and no more")}, Usage: &began, Drop: at},
				// Of a block that is there whole the CLI may ask for the rest, instead of for all of it.
				Sequence: []ct.Reply{{Blocks: []ct.Block{ct.Text("done")}, Usage: &ct.Usage{Input: 2000, Output: 30}}},
			})
			a, err := through(t, s, before(s.URL))
			if err != nil || !strings.HasSuffix(a.Text, "done") || len(s.Requests()) != 2 {
				t.Fatalf("got %q, %v after %d requests, want \"done\" after 2", a.Text, err, len(s.Requests()))
			}
			got := all(a.Cost)
			want := state.Usage{Input: 102_000, Output: got.Output, CacheWrite: 1000, CacheRead: 5000}
			// Some versions count the lost answer themselves, at times; then nothing is added.
			if got != want || got.Output < 31 {
				t.Errorf("got %+v in all of %+v, want both answers", got, a.Cost)
			}
		})
	}
}

// TestContractTwoAgentsAreCountedApart: at once, through one proxy.
func TestContractTwoAgentsAreCountedApart(t *testing.T) {
	t.Parallel()
	reply := func(input int) ct.Reply {
		return ct.Reply{Blocks: []ct.Block{ct.Text("done")}, Usage: &ct.Usage{Input: input, Output: 10}}
	}
	lost := reply(100_000)
	lost.Drop = ct.Middle
	s := ct.NewServer(t,
		ct.Rule{Match: "prompt one", FailFirst: 1, Fail: lost, Steps: []ct.Reply{reply(1000)}}, ct.On("prompt two", reply(30)))
	p, err := keyproxy.Start(keyproxy.Options{Vendors: []keyproxy.Vendor{before(s.URL)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	for prompt, want := range map[string]int64{"prompt one": 101_000, "prompt two": 30} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			a, _, err := throughProxy(t, s, p, prompt)
			if err != nil || all(a.Cost).Input != want {
				t.Errorf("got %+v, %v, want %d tokens of input", a.Cost, err, want)
			}
		})
	}
}

// TestContractSpentBudgetEndsTheCLI: the CLI takes the refusal for its end, at once, and
// the invocation is booked with what it had used by then.
func TestContractSpentBudgetEndsTheCLI(t *testing.T) {
	t.Parallel()
	calls := ct.Do(ct.Bash("echo hello"))
	calls.Usage = &ct.Usage{Input: 500_000, Output: 10}
	s := ct.NewServer(t, ct.On("go", calls, ct.Say("done")))
	p, err := keyproxy.Start(keyproxy.Options{Vendors: []keyproxy.Vendor{before(s.URL)}, Price: prices.Book{}.Of})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Allow(state.Dollar/2, nil)
	a, told, err := throughProxy(t, s, p, "go")
	var f *runner.Failure
	if !errors.As(err, &f) || f.Class != runner.OverBudget || !f.Continue || len(s.Requests()) != 1 {
		t.Errorf("got %v after %d requests, want class %s after 1", err, len(s.Requests()), runner.OverBudget)
	}
	if got := all(a.Cost); got.Input != 500_000 {
		t.Errorf("cost: got %+v, want 500,000 tokens of input", a.Cost)
	}
	if i := slices.IndexFunc(told, func(line string) bool { return strings.HasPrefix(line, "API error ") }); i >= 0 {
		t.Errorf("told: got %q, want the CLI to end at once", told[i])
	}
}

// TestContractHonestCostsAreTheMeters: of what the CLI reports when nothing goes wrong the
// meter has nothing to add.
func TestContractHonestCostsAreTheMeters(t *testing.T) {
	t.Parallel()
	calls := ct.Do(ct.Bash("echo hello"))
	calls.Usage = &ct.Usage{Input: 50_000, Output: 100, CacheWrite: 20_000}
	done := ct.Say("done")
	done.Usage = &ct.Usage{Input: 100, Output: 2000, CacheRead: 70_000}
	s := ct.NewServer(t, ct.On("go", calls, done))
	a, err := through(t, s, before(s.URL))
	if err != nil || a.Cost.Kind != state.Exact || len(a.Cost.Beyond) > 0 {
		t.Fatalf("got %+v, %v, want an exact cost and nothing beyond it", a.Cost, err)
	}
	metered := state.USD(0)
	for _, u := range a.Cost.Metered {
		usd, ok := prices.Book{}.Of(u)
		if !ok {
			t.Fatalf("no price of %q", u.Model)
		}
		metered = metered.Plus(usd)
	}
	if metered == 0 || metered-metered/10 > a.Cost.USD {
		t.Errorf("metered: got %s, and %s by the CLI, want no less than nine tenths of it", metered, a.Cost.USD)
	}
}
