package codex

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	ct "github.com/raymond-action/raymond-action/runner/codex/codextest"
	"github.com/raymond-action/raymond-action/state"
)

// TestErrors holds what the real CLI's words for each error of the API mean, and that an
// error without an answer costs nothing.
func TestErrors(t *testing.T) {
	t.Parallel()
	replies := map[string]agenttest.Reply{
		"key":      {Status: 401, Message: "Incorrect API key provided"},
		"forbids":  {Status: 403},
		"model":    {Status: 404, Message: "The model x does not exist"},
		"bad":      {Status: 400, Message: "no such field"},
		"rate":     {Status: 429, RetryAfter: "0"},
		"plan":     {Status: 429, UsageLimit: true},
		"overload": {Status: 503},
		"server":   {Status: 500},
		"cut":      {Cut: true},
	}
	s := ct.NewServer(t, func(a agenttest.Asked) agenttest.Reply { return replies[strings.TrimSpace(a.Last())] })
	b := started(t, s)
	for name, want := range map[string]struct {
		class  runner.Class
		text   string
		silent bool
	}{
		"key":      {runner.Fatal, "authentication: ", true},
		"forbids":  {runner.Fatal, "authentication: ", true},
		"model":    {runner.Fatal, "The model x does not exist", true},
		"bad":      {runner.Fatal, "bad request: ", true},
		"rate":     {runner.Service, "429", true},
		"plan":     {runner.UsageLimit, "usage limit: ", true},
		"overload": {runner.Service, "at capacity", true},
		"server":   {runner.Service, "high demand", true},
		"cut":      {runner.Transient, "stream disconnected", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, f, _ := run(t.Context(), t, b, order(t, name))
			if f == nil || f.Class != want.class || !strings.Contains(f.Message, want.text) || a.Cost.Silent != want.silent {
				t.Fatalf("%s: got %+v, silent: %v, want class %s, %q, %v", name, f, a.Cost.Silent, want.class, want.text, want.silent)
			}
			if until := time.Until(f.Reset); name == "plan" && (until < 50*time.Minute || until > 70*time.Minute) {
				t.Errorf("%s: got the end at %s, want it in an hour", name, f.Reset)
			}
		})
	}
}

// TestNobodyAnswers: no API, and no conversation.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	b := started(t, ct.NewServer(t, model()))
	b.Env = append(b.Env, "OPENAI_BASE_URL=http://127.0.0.1:1/v1")
	if _, f, _ := run(t.Context(), t, b, order(t, "nobody there")); f == nil || f.Class != runner.Service {
		t.Errorf("nobody there: got %+v, want the service's failure", f)
	}
	none := &Backend{Path: b.Path, Env: append(slices.Clone(b.Env), "OPENAI_API_KEY=")}
	if a, f, _ := run(t.Context(), t, none, order(t, "no key")); f == nil || f.Class != runner.Fatal || !strings.HasPrefix(f.Message, "authentication: ") || !a.Cost.Silent {
		t.Errorf("no key: got %+v, want it refused before the start", f)
	}
	o := order(t, "settings")
	o.Prompt.Model, b.Env = "x", append(b.Env, "CODEX_HOME=/nowhere")
	if a, f, _ := run(t.Context(), t, b, o); f == nil || f.Class != runner.Fatal || !strings.HasPrefix(f.Message, "the agent CLI refuses to start: ") || !a.Cost.Silent {
		t.Errorf("settings that it refuses: got %+v, %+v, want it refused at no cost", f, a.Cost)
	}
}

// TestThreadsThatAreGone: the CLI itself says so, also where it is to branch one.
func TestThreadsThatAreGone(t *testing.T) {
	t.Parallel()
	b := started(t, ct.NewServer(t, model()))
	for _, mode := range []state.SessionMode{state.Resume, state.Branch} {
		o := order(t, "gone")
		o.Prompt.Session, o.Prompt.CLIID = mode, "01a20496-9575-7df3-99d5-000000000000"
		if _, f, _ := run(t.Context(), t, b, o); f == nil || f.Class != runner.Fatal || !strings.HasPrefix(f.Message, "session gone") {
			t.Errorf("%s of no thread: got %+v, want the session gone", mode, f)
		}
	}
}

func TestResetOfAUsageLimit(t *testing.T) {
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 11, 22, 21, 0, 0, 0, zone)
	for words, want := range map[string]time.Time{
		"or try again at 9:40 PM.":                   time.Date(2026, 11, 22, 21, 41, 0, 0, zone),
		"or try again at 1:05 AM.":                   time.Date(2026, 11, 23, 1, 6, 0, 0, zone),
		"or try again at Nov 25th, 2026 12:00 AM.":   time.Date(2026, 11, 25, 0, 1, 0, 0, zone),
		"or try again at Dec 1st, 2026 12:25 PM.":    time.Date(2026, 12, 1, 12, 26, 0, 0, zone),
		"or try again later.":                        {},
		"or try again at Foo 99th, 2026 12:00 AM.":   {},
		"You've hit your limit. Visit https://x.y/z": {},
	} {
		if got := resetOf(words, now); !got.Equal(want) {
			t.Errorf("%s: got %s, want %s", words, got, want)
		}
	}
}
