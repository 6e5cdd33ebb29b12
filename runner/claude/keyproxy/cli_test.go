package keyproxy_test

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
	"github.com/raymond-action/raymond-action/runner/claude/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// The tests of this file run the real CLI.

// dump is a command that tells what a tool can find out by itself: its own
// environment, and that of each of its ancestors.
const dump = `env; p=$PPID; while [ "$p" -gt 1 ]; do tr '\0' '\n' <"/proc/$p/environ"; ` +
	`p=$(sed 's/.*) . //' "/proc/$p/stat" | cut -d' ' -f1); done; echo "dumped to $p"`

// through runs a prompt with the CLI, whose environment lacks a key, through a
// proxy.
func through(t *testing.T, s *ct.Server, o keyproxy.Options) (runner.Answer, error) {
	t.Helper()
	p, err := keyproxy.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	env := slices.DeleteFunc(ct.Env(t, s), func(entry string) bool {
		return strings.HasPrefix(entry, "ANTHROPIC_") || strings.HasPrefix(entry, "NO_PROXY=")
	})
	env = append(env, "BASH_MAX_OUTPUT_LENGTH=150000",
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1") // where nobody answers
	b := &claude.Backend{Path: ct.Install(t), Env: append(env, p.Env()...), NoNewPrivs: true}
	return b.Run(t.Context(), runner.Order{
		Dir: t.TempDir(), Mark: uuid.NewString(), Prompt: "go", Session: state.Fresh, SessionID: uuid.NewString(), SkipPermissions: true,
	}, func(runner.Progress) {})
}

// TestToolsDoNotFindTheKey holds that the CLI works through the proxy, asks as it
// does with that kind of credential, and that the API alone gets to see the real
// one.
func TestToolsDoNotFindTheKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options keyproxy.Options
		header  string // what carries the credential
		want    string
		beta    bool // the CLI asks as a subscription does
	}{
		"key":   {keyproxy.Options{APIKey: "sk-ant-api03-real"}, "X-Api-Key", "sk-ant-api03-real", false},
		"token": {keyproxy.Options{OAuthToken: "sk-ant-oat01-real"}, "Authorization", "Bearer sk-ant-oat01-real", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ct.NewServer(t, ct.On("go", ct.Do(ct.Bash(dump), ct.Bash("grep NoNewPrivs /proc/self/status")), ct.Say("done")))
			c.options.Upstream = s.URL
			a, err := through(t, s, c.options)
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

// TestFaultsPassThroughTheProxy holds that the CLI takes an unreachable API for a
// passing fault and tries again, and that it is told the API's own errors.
func TestFaultsPassThroughTheProxy(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, ct.On("", ct.Fail(401)))
	var told atomic.Int32
	for name, c := range map[string]struct {
		upstream string
		class    runner.Class
		tries    int32 // of which the log tells, at least
	}{
		"nobody there": {"http://127.0.0.1:1", runner.Transient, 2},
		"key refused":  {s.URL, runner.Fatal, 0},
	} {
		told.Store(0)
		_, err := through(t, s, keyproxy.Options{Upstream: c.upstream, APIKey: "sk-ant-api03-real", Log: func(string) { told.Add(1) }})
		var f *runner.Failure
		if !errors.As(err, &f) || f.Class != c.class || strings.Contains(f.Message, "-real") || told.Load() < c.tries {
			t.Errorf("%s: got %v after %d attempts, want class %s after at least %d", name, err, told.Load(), c.class, c.tries)
		}
	}
}
