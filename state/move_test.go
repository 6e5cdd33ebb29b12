package state_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// TestDirectories checks that the attribute cd is relative to the agent's directory, that a forked agent
// without cd starts in the run's directory, and that a result returns to the caller's directory.
func TestDirectories(t *testing.T) {
	p := newPlay(t, nil)
	at := func(want string) {
		t.Helper()
		equal(t, "directory in "+p.agent("main").State, p.agent("main").Dir, want)
	}
	cd := func(to, dir string) protocol.Move {
		return protocol.Move{Verb: protocol.Reset, To: to, Dir: dir}
	}
	at("")
	p.turn("main", cd("A.md", "sub/../x/./y/"))
	at(statetest.Abs("/d/x/y"))
	p.turn("main", goTo("B.md"))
	at(statetest.Abs("/d/x/y"))
	p.turn("main", cd("A.md", "../z"))
	at(statetest.Abs("/d/x/z"))
	p.turn("main", reset("A.md"))
	at(statetest.Abs("/d/x/z"))
	p.turn("main", call("B.md", "C.md"))
	p.turn("main", cd("B.md", statetest.Abs("/abs")+"/../other"))
	at(statetest.Abs("/other"))
	p.turn("main", result("r"))
	at(statetest.Abs("/d/x/z"))
	p.turn("main", goTo("A.md"), protocol.Spawn{State: "B.md", Next: "A.md"}, protocol.Spawn{State: "B.md", Next: "A.md", Dir: "w"})
	equal(t, "workers", []string{p.agent("main_b1").Dir, p.agent("main_b2").Dir}, []string{"", statetest.Abs("/d/x/z/w")})
}

// TestEndOfMainIsRecorded checks that a run that a comment may continue records the conversation and the
// directory with which main ends. The run that follows must begin with a copy of that conversation.
func TestEndOfMainIsRecorded(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		p := newPlay(t, nil)
		if keeps {
			p.run.KeepLastConversation()
		}
		p.turn("main", goTo("C.md"), protocol.Spawn{State: "B.md", Next: "C.md"})
		p.turn("main_b1", result("worker"))
		if last := p.run.Last; last != nil && *last != (state.LastConversation{}) {
			t.Errorf("before main has ended: got %+v, want nothing", last)
		}
		p.turn("main", protocol.Move{Verb: protocol.Reset, To: "A.md", Dir: statetest.Abs("/elsewhere")})
		p.turn("main", result("done"))
		if !keeps {
			equal(t, "last", p.run.Last, (*state.LastConversation)(nil))
			continue
		}
		last := *p.run.Last
		equal(t, "last", []any{last.Session.ID, last.Dir}, []any{"s3", statetest.Abs("/elsewhere")})
		p.run = statetest.NewRun()
		p.run.FollowUp("B.md", "ann", last)
		p.do(func(s *state.Step) { s.Begin() })
		main := p.agent("main")
		plan := main.Plan(p.state(main.State), statetest.FullCLI)
		equal(t, "plan of the run that follows", []any{main.State, plan.Mode, plan.Session.ID, main.Dir},
			[]any{"B.md", state.Branch, "s3", statetest.Abs("/elsewhere")})
	}
}

// TestLimitsOfAgentCLIs checks that a conversation stays with the agent CLI that began it. If a call needs a
// copy of a conversation that the CLI can't make, the agent can't continue. In other cases it begins a new
// conversation, and the plan contains a note about that.
func TestLimitsOfAgentCLIs(t *testing.T) {
	codex := state.CLI{Name: protocol.BackendCodex}
	deaf := state.CLI{Name: protocol.BackendClaude}
	for _, c := range []struct {
		name   string
		move   protocol.Move
		policy protocol.Policy
		cli    state.CLI
		want   string // the mode, or text in the failure reason
	}{
		{"another CLI", goTo("C.md"), protocol.Policy{}, codex, "belongs to the agent claude; reach the state by <reset>, <function> or <fork>"},
		{"another CLI, called", call("C.md", "B.md"), protocol.Policy{}, codex, "belongs to the agent claude"},
		{"another CLI, with attempts", goTo("C.md"),
			protocol.Policy{Convergence: &protocol.Convergence{AttemptContext: "fresh"}}, codex, "belongs to the agent claude"},
		{"another CLI, after a reset", reset("C.md"), protocol.Policy{}, codex, "fresh"},
		{"no session id", goTo("C.md"), protocol.Policy{}, deaf, "fresh, the agent claude can't continue its conversation, because it reported no session id"},
		{"the same, called", call("C.md", "B.md"), protocol.Policy{}, deaf, "which branches the conversation of the caller, but the agent claude can't branch it"},
	} {
		p := newPlay(t, nil)
		p.turn("main", c.move)
		p.policies["C.md"] = c.policy
		plan := p.agent("main").Plan(p.state("C.md"), c.cli)
		if got := fmt.Sprint(plan.Mode, ", ", plan.Note, plan.FailureReason); !strings.Contains(got, c.want) || strings.HasPrefix(c.want, "fresh") != (plan.FailureReason == "") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	p := newPlay(t, nil)
	p.turn("main", goTo("B.md"))
	told := *p.agent("main").Session
	for id, want := range map[string]string{"": "fresh it reported no session id", "thread-1": "resume "} {
		told.Backend, told.CLIID = protocol.BackendCodex, id
		a := *p.agent("main")
		a.Session = &told
		plan := a.Plan(p.state("B.md"), codex)
		_, why, _ := strings.Cut(plan.Note, "because ")
		why, _, _ = strings.Cut(why, ":")
		equal(t, "the session "+id, string(plan.Mode)+" "+why, want)
	}
}

// TestForgottenConversationsAreNotContinued checks that after ForgetConversations no field of a run refers
// to a lost conversation, and that other conversations remain.
func TestForgottenConversationsAreNotContinued(t *testing.T) {
	const lost, kept = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	for _, id := range []string{lost, kept} {
		length, session, run := int64(7), &state.Session{ID: id}, statetest.NewRun()
		a := run.Agents[0]
		a.Session, a.Branch, a.Status = session, true, state.Busy
		a.Stack = []state.Frame{{State: "A.md", Session: session, Branch: true}}
		a.Exec = &state.Exec{
			Iteration: 1, Attempt: 1, Phase: state.PhaseAgent, Session: session, Reminder: "again", Continue: true, EntryLen: &length,
			Running: &state.Invocation{N: 1, Mode: state.Resume, SessionID: id, Length: &length},
		}
		run.ForgetConversations(func(s string) bool { return s == lost })
		a.Exec.Running = nil
		plan := a.Plan(&protocol.State{Name: "A.md", Kind: protocol.Prompt}, statetest.FullCLI)
		data := statetest.Encode(t, run)
		fresh, named := plan.Mode == state.Fresh && plan.Cut == nil, strings.Contains(string(data), id)
		if want := id == lost; fresh != want || named == want {
			t.Errorf("session %s: got a plan %+v and a state that names it: %t; want fresh and unnamed: %t", id, plan, named, want)
		}
	}
}
