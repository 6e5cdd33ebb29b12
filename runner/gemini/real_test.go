package gemini

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/gemini/geminitest"
	"github.com/raymond-action/raymond-action/state"
)

// The tests of this file run the real CLI against a scripted API. Each start takes more than a
// second of processor time, so they are few.

// site is a machine with the real CLI.
type site struct {
	t       *testing.T
	api     *geminitest.Server
	replies *atomic.Pointer[agenttest.Model]
	backend *Backend
	home    string
	dir     string
}

func newSite(t *testing.T, m agenttest.Model) *site {
	t.Helper()
	path := geminitest.Install(t)
	replies, home := &atomic.Pointer[agenttest.Model]{}, t.TempDir()
	api := geminitest.NewServer(t, func(a agenttest.Asked) agenttest.Reply { return (*replies.Load())(a) })
	replies.Store(&m)
	env := append(geminitest.Vendor{}.Environ(api.URL, home), "TMPDIR="+t.TempDir())
	return &site{t, api, replies, &Backend{Path: path, Env: env, grace: patience}, home, t.TempDir()}
}

// patience is how long the CLI may take to exit on a machine with much else to do.
const patience = 10 * time.Minute

// model has another model answer from now on.
func (s *site) model(m agenttest.Model) { s.replies.Store(&m) }

// order is one that begins a conversation.
func (s *site) order(text string) runner.Order {
	return runner.Order{Dir: s.dir, Mark: uuid.NewString(), Telling: runner.TellAll, Prompt: runner.PromptOrder{
		Backend: "gemini", Text: text, Session: state.Fresh, SessionID: uuid.NewString(), Model: "gemini-2.5-pro",
	}}
}

// run gives an order to the CLI.
func (s *site) run(o runner.Order) (runner.Answer, *runner.Failure) {
	s.t.Helper()
	a, err := s.backend.Run(s.t.Context(), o, func(runner.Progress) {})
	var f *runner.Failure
	if errors.As(err, &f); err != nil && f == nil {
		s.t.Fatal(err)
	}
	return a, f
}

// answer runs an order that must succeed.
func (s *site) answer(o runner.Order) runner.Answer {
	s.t.Helper()
	a, f := s.run(o)
	if f != nil || a.SessionID != o.Prompt.SessionID {
		s.t.Fatalf("%s %q: got %+v in session %q, want an answer in %q", o.Prompt.Session, o.Prompt.Text, f, a.SessionID, o.Prompt.SessionID)
	}
	return a
}

// saw compares what the model was shown last.
func (s *site) saw(what string, prompts, said []string) {
	s.t.Helper()
	all := s.api.Asked()
	last := all[len(all)-1]
	if diff := cmp.Diff(prompts, last.Prompts) + cmp.Diff(said, last.Said); diff != "" {
		s.t.Errorf("%s: prompts and answers (-want +got):\n%s", what, diff)
	}
}

func (s *site) length(o runner.Order) int64 {
	s.t.Helper()
	n, ok := s.backend.Length(conversation(o))
	if !ok || n == 0 {
		s.t.Fatalf("length of session %s: got %d, %v, want some", o.Prompt.SessionID, n, ok)
	}
	return n
}

func conversation(o runner.Order) runner.Conversation {
	return runner.Conversation{ID: o.Prompt.SessionID, Dir: o.Dir}
}

// echo says the newest prompt.
func echo(a agenttest.Asked) agenttest.Reply {
	return agenttest.Reply{Text: "re: " + a.Last(), Input: 1000, Cached: 300, Output: 20}
}

// TestContractConversations holds what the model sees after each way to begin or resume a
// conversation, and what the invocation reports.
func TestContractConversations(t *testing.T) {
	t.Parallel()
	s := newSite(t, echo)
	s.dir = filepath.Join(s.dir, "Ünïcödé 😀")
	must(t, os.MkdirAll(s.dir, 0o755))
	o := s.order("? one")
	a := s.answer(o)
	s.saw("fresh", []string{"Prompt:\n? one"}, nil)
	used := state.Usage{Model: "gemini-2.5-pro", Input: 1000, CacheRead: 300, Output: 20}
	want := state.Cost{Kind: state.InTokens, Usage: []state.ModelCost{{Usage: used}}}
	if diff := cmp.Diff(want, a.Cost); diff != "" || a.Text != "re: Prompt:\n? one" || a.Model != "gemini-2.5-pro" {
		t.Errorf("fresh: got %q of %s, cost (-want +got):\n%s", a.Text, a.Model, diff)
	}
	if got, ok := s.backend.Usage(conversation(o), 0); !ok || !slices.Equal(got, []state.Usage{used}) {
		t.Errorf("usage in the transcript: got %+v, %v, want %+v", got, ok, used)
	}
	entry := s.length(o)

	o.Prompt.Session, o.Prompt.Text = state.Resume, "two"
	a = s.answer(o)
	s.saw("resume", []string{"Prompt:\n? one", "two"}, []string{"re: Prompt:\n? one"})
	if diff := cmp.Diff(want, a.Cost); diff != "" || a.Text != "re: two" {
		t.Errorf("resume: got %q, cost of the invocation alone (-want +got):\n%s", a.Text, diff)
	}

	o.Prompt.Cut, o.Prompt.Text = &entry, "two again"
	s.answer(o)
	s.saw("resume after a cut", []string{"Prompt:\n? one", "two again"}, []string{"re: Prompt:\n? one"})
	if got, ok := s.backend.Usage(conversation(o), entry); !ok || !slices.Equal(got, []state.Usage{used}) {
		t.Errorf("usage of the last invocation in the transcript: got %+v, %v, want %+v", got, ok, used)
	}

	parent := s.length(o)
	branch := o
	branch.Prompt.Session, branch.Prompt.From, branch.Prompt.SessionID, branch.Prompt.Cut, branch.Prompt.Text = state.Branch, o.Prompt.SessionID, uuid.NewString(), nil, "three"
	s.answer(branch)
	s.saw("branch", []string{"Prompt:\n? one", "two again", "three"}, []string{"re: Prompt:\n? one", "re: two again"})
	if now := s.length(o); now != parent {
		t.Errorf("branch: the transcript of the first conversation grew from %d to %d bytes", parent, now)
	}

	branch.Prompt.Session, branch.Prompt.Text = state.Resume, "four"
	s.answer(branch)
	s.saw("the branch resumed", []string{"Prompt:\n? one", "two again", "three", "four"}, []string{"re: Prompt:\n? one", "re: two again", "re: three"})

	s.moved(o)
}

// moved resumes a conversation with another home folder, in another directory.
func (s *site) moved(o runner.Order) {
	s.t.Helper()
	found, ok := s.backend.Find(conversation(o), []string{"/elsewhere", s.dir})
	if !ok || found.Dir != s.dir || found.Size != s.length(o) {
		s.t.Fatalf("transcript: got %+v, %v, want it of %s", found, ok, s.dir)
	}
	other := &site{s.t, s.api, s.replies, &Backend{Path: s.backend.Path, Env: append(slices.Clone(s.backend.Env), "HOME="+s.t.TempDir())}, "", s.t.TempDir()}
	o.Dir, o.Prompt.Session, o.Prompt.Text, o.Prompt.Cut = other.dir, state.Resume, "far away", nil
	if _, f := other.run(o); f == nil || f.Class != runner.Fatal || !strings.Contains(f.Message, "session gone") {
		s.t.Errorf("resumed where nothing is: got %+v, want the session gone", f)
	}
	must(s.t, other.backend.Place(conversation(o), found.Path))
	other.answer(o)
	other.saw("resumed elsewhere", []string{"Prompt:\n? one", "two again", "far away"}, []string{"re: Prompt:\n? one", "re: two again"})
	must(s.t, other.backend.Clear(conversation(o), nil))
	if n, ok := other.backend.Length(conversation(o)); ok {
		s.t.Errorf("length after Clear: got %d, want none", n)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
