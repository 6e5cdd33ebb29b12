package codex

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	ct "github.com/raymond-action/raymond-action/runner/codex/codextest"
	"github.com/raymond-action/raymond-action/state"
)

// The tests of this file run the real CLI against a scripted API.

// model is a scripted model that says what its first rule for the newest prompt says.
func model(rules ...any) agenttest.Model {
	return func(a agenttest.Asked) agenttest.Reply {
		if a.Output != "" {
			return agenttest.Reply{Text: "tool said " + a.Output}
		}
		for i := 0; i+1 < len(rules); i += 2 {
			if strings.Contains(a.Last(), rules[i].(string)) {
				return rules[i+1].(agenttest.Reply)
			}
		}
		return agenttest.Reply{Text: "ok"}
	}
}

// started returns a backend with the real CLI in a home of its own.
func started(t *testing.T, s *ct.Server, env ...string) *Backend {
	t.Helper()
	all := append(ct.Vendor{}.Environ(s.URL, t.TempDir()), "TMPDIR="+t.TempDir())
	return &Backend{Path: ct.Install(t), Env: append(all, env...)}
}

// order returns a fresh order in a folder of its own.
func order(t *testing.T, prompt string) runner.Order {
	t.Helper()
	return runner.Order{
		Dir: t.TempDir(), Mark: uuid.NewString(), Telling: runner.TellAll,
		Prompt: runner.PromptOrder{Text: prompt, Session: state.Fresh, SessionID: uuid.NewString(), Permissions: runner.Permissions{PermissionMode: "acceptEdits"}},
	}
}

// run returns the answer, the failure and what was told.
func run(ctx context.Context, t *testing.T, b *Backend, o runner.Order) (runner.Answer, *runner.Failure, []runner.Progress) {
	t.Helper()
	var mu sync.Mutex
	var told []runner.Progress
	a, err := b.Run(ctx, o, func(p runner.Progress) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, p)
	})
	if err == nil {
		return a, nil, told
	}
	var f *runner.Failure
	if !errors.As(err, &f) {
		t.Fatalf("run %q: got error %T %v, want a *runner.Failure", o.Prompt.Text, err, err)
	}
	return a, f, told
}

// answer runs an order that must succeed.
func answer(t *testing.T, b *Backend, o runner.Order) runner.Answer {
	t.Helper()
	a, f, _ := run(t.Context(), t, b, o)
	if f != nil {
		t.Fatalf("%s %q: got failure %+v, want an answer", o.Prompt.Session, o.Prompt.Text, f)
	}
	return a
}

// saw compares what the model was shown last.
func saw(t *testing.T, s *ct.Server, what string, want ...string) {
	t.Helper()
	all := s.Asked()
	if diff := cmp.Diff(want, trimmed(all[len(all)-1].Prompts)); diff != "" {
		t.Errorf("%s: prompts (-want +got):\n%s", what, diff)
	}
}

func trimmed(list []string) []string {
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func used(t *testing.T, what string, a runner.Answer, want ...state.Usage) {
	t.Helper()
	var got []state.Usage
	for _, m := range a.Cost.Usage {
		got = append(got, m.Usage)
	}
	if diff := cmp.Diff(want, got); diff != "" || a.Cost.Kind != state.InTokens {
		t.Errorf("%s: cost of kind %q, usage (-want +got):\n%s", what, a.Cost.Kind, diff)
	}
}

// TestConversations holds what the model sees after each way to begin or continue a
// conversation, and what is booked, although the CLI's sum goes on counting.
func TestConversations(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, model("", agenttest.Reply{Text: "fine", Input: 1000, Cached: 100, Output: 26}))
	b := started(t, s)
	each := state.Usage{Model: "gpt-5.5", Input: 1000, CacheRead: 100, Output: 26}
	o := order(t, "one")
	o.Prompt.Model = "gpt-5.5"

	a := answer(t, b, o)
	saw(t, s, "fresh", "one")
	used(t, "fresh", a, each)
	if a.Text != "fine" || a.CLIID == "" || a.Model != "gpt-5.5" || a.SessionID != o.Prompt.SessionID {
		t.Errorf("fresh: got %+v, want the answer, the thread's id, the model", a)
	}
	if last := s.Asked()[0]; last.Key != ct.Key || last.Model != "gpt-5.5" {
		t.Errorf("request: got model %q, key %q", last.Model, last.Key)
	}
	c := runner.Conversation{ID: o.Prompt.SessionID, CLI: a.CLIID, Dir: o.Dir}
	entry, _ := b.Length(c)
	if got, ok := b.Usage(c, 0); !ok || len(got) != 1 || got[0] != each {
		t.Errorf("usage in the rollout: got %+v, %v, want %+v", got, ok, each)
	}
	if got, ok := b.Usage(c, entry); ok {
		t.Errorf("usage after the end: got %+v, want none", got)
	}

	o.Prompt.Session, o.Prompt.Text, o.Prompt.CLIID, o.Prompt.Model = state.Resume, "two", a.CLIID, ""
	used(t, "resume", answer(t, b, o), each)
	saw(t, s, "resume", "one", "two")

	o.Prompt.Cut, o.Prompt.Text = &entry, "two again"
	used(t, "resume after a cut", answer(t, b, o), each)
	saw(t, s, "resume after a cut", "one", "two again")
	branches(t, s, b, o, each)
}

// branches continues TestConversations with a branch of a conversation, in which "one" and
// "two again" were said.
func branches(t *testing.T, s *ct.Server, b *Backend, o runner.Order, each state.Usage) {
	t.Helper()
	c := runner.Conversation{ID: o.Prompt.SessionID, CLI: o.Prompt.CLIID, Dir: o.Dir}
	parent, _ := b.Length(c)
	branch := o
	branch.Prompt.Session, branch.Prompt.From, branch.Prompt.SessionID = state.Branch, o.Prompt.SessionID, uuid.NewString()
	branch.Prompt.Cut, branch.Prompt.Text = nil, "three"
	a := answer(t, b, branch)
	used(t, "branch", a, each)
	saw(t, s, "branch", "one", "two again", "three")
	if now, _ := b.Length(c); now != parent {
		t.Errorf("branch: the caller's rollout grew from %d to %d bytes", parent, now)
	}

	// The branch alone, in another home and another folder.
	of := runner.Conversation{ID: branch.Prompt.SessionID, CLI: a.CLIID, Dir: branch.Dir}
	stored, ok := b.Find(of, []string{"/elsewhere", branch.Dir})
	if !ok || stored.Dir != branch.Dir {
		t.Fatalf("Find: got %+v, %v, want it, in %s", stored, ok, branch.Dir)
	}
	b2 := started(t, s)
	there := branch
	there.Dir, there.Prompt.Session, there.Prompt.Text, there.Prompt.CLIID = t.TempDir(), state.Resume, "four", a.CLIID
	of.Dir = there.Dir
	if err := b2.Place(of, stored.Path); err != nil {
		t.Fatal(err)
	}
	used(t, "elsewhere", answer(t, b2, there), each)
	saw(t, s, "elsewhere", "one", "two again", "three", "four")
	if err := b2.Clear(of, nil); err != nil {
		t.Fatal(err)
	}
	_, f, _ := run(t.Context(), t, b2, there)
	if f == nil || f.Class != runner.Fatal || !strings.HasPrefix(f.Message, "session gone: ") {
		t.Errorf("after Clear: got %+v, want the session gone", f)
	}
}

// TestInterrupted holds that a cut undoes what a process said that was ended in the middle of
// its turn, and that its thread is known by then.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	s := ct.NewServer(t, func(a agenttest.Asked) agenttest.Reply {
		if strings.Contains(a.Last(), "hang") {
			asked <- struct{}{}
			return agenttest.Reply{Hang: true}
		}
		return agenttest.Reply{Text: "fine"}
	})
	b := started(t, s)
	o := order(t, "one")
	a := answer(t, b, o)
	c := runner.Conversation{ID: o.Prompt.SessionID, CLI: a.CLIID, Dir: o.Dir}
	entry, _ := b.Length(c)

	o.Prompt.Session, o.Prompt.Text, o.Prompt.CLIID = state.Resume, "hang", a.CLIID
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(&runner.Stopping{Reason: "cancelled", Term: time.Minute, Kill: time.Minute})
	}()
	a, f, _ := run(ctx, t, b, o)
	if f == nil || f.Class != runner.Stopped || a.Cost.Kind != "" || a.Cost.Silent {
		t.Errorf("ended in its turn: got %+v, cost %+v, want it stopped and its cost unknown", f, a.Cost)
	}
	o.Prompt.Text, o.Prompt.Cut = "two", &entry
	answer(t, b, o)
	saw(t, s, "after the cut", "one", "two")
}

// TestThreadIsToldAtOnce: before the model has answered.
func TestThreadIsToldAtOnce(t *testing.T) {
	t.Parallel()
	s := ct.NewServer(t, model())
	b := started(t, s)
	a, f, told := run(t.Context(), t, b, order(t, "one"))
	first := slices.IndexFunc(told, func(p runner.Progress) bool { return p.CLIID != "" })
	said := slices.IndexFunc(told, func(p runner.Progress) bool { return p.Text == "ok" })
	if f != nil || first < 0 || told[first].CLIID != a.CLIID || said < first {
		t.Errorf("told %+v of %+v, %v: want its id before its answer", told, a, f)
	}
}
