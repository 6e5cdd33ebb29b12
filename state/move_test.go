package state_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// how describes an invocation: its mode, its session, and where that branched off.
func how(i state.Invocation) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", i.Mode, i.SessionID, i.From))
}

// TestSessionsOfMoves: the table of tags in docs/language.md. A session survives script states; an
// agent that was called owes a branch until its next prompt, also when a script calls on, and
// when it comes back from that call.
func TestSessionsOfMoves(t *testing.T) {
	type turn struct {
		move protocol.Move // that ends the state
		want string        // how the state is started; "" for a script
	}
	for name, turns := range map[string][]turn{
		"prompts": {
			{goTo("B.md"), "fresh s1"}, {call("C.md", "A.md"), "resume s1"}, {goTo("B.md"), "branch s2 s1"}, {result("r"), "resume s2"},
			{function("C.md", "B.md", ""), "resume s1"}, {call("A.md", "B.md"), "fresh s3"}, {result("r"), "branch s4 s3"},
			{result("r"), "resume s3"}, {reset("A.md"), "resume s1"}, {goTo("B.md"), "fresh s5"}, {result("end"), "resume s5"},
		},
		"scripts": {
			{reset("S.sh"), "fresh s1"}, {goTo("S.sh"), ""}, {call("S.sh", "B.md"), ""}, {goTo("A.md"), ""}, {result("r"), "fresh s2"},
			{goTo("A.md"), "fresh s3"}, {goTo("S.sh"), "resume s3"}, {goTo("A.md"), ""}, {result("end"), "resume s3"},
		},
		"a script that calls on": {
			{call("S.sh", "A.md"), "fresh s1"}, {call("B.md", "S.sh"), ""}, {result("inner"), "branch s2 s1"}, {goTo("C.md"), ""},
			{goTo("B.md"), "branch s3 s1"}, {result("outer"), "resume s3"}, {result("end"), "resume s1"},
		},
	} {
		p := newPlay(t, nil)
		for n, c := range turns {
			equal(t, fmt.Sprintf("%s, turn %d", name, n), how(p.turn("main", c.move)), c.want)
		}
		if got, ok := p.run.Result(); got != "end" || !ok {
			t.Errorf("result: got %q, want %q", got, "end")
		}
	}
}

// TestPayloads: a move's input, a child's result, an empty one otherwise; kept
// over retries, reminders and crashes of the state that it was delivered to.
func TestPayloads(t *testing.T) {
	p := newPlay(t, nil)
	payload := func(want string) {
		t.Helper()
		equal(t, "payload of "+p.agent("main").State, p.agent("main").Payload, state.Text(want))
	}
	payload("in")
	p.ends("main", fail(state.Transient, "x"))
	p.now = p.agent("main").NotBefore
	p.ends("main", refused)
	p.start("main")
	p.resume(nil)
	payload("in")
	p.turn("main", goTo("B.md"))
	payload("")
	withInput := call("C.md", "A.md")
	withInput.Input = "\xff\x00"
	p.turn("main", withInput)
	payload("\xff\x00")
	p.turn("main", result(" r\n"))
	payload(" r\n")
}

// TestDirectories: cd counts from the agent's own directory, a worker without one
// starts in the orchestrator's, and a result comes back to the caller's.
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
	at(state.Abs("/d/x/y"))
	p.turn("main", goTo("B.md"))
	at(state.Abs("/d/x/y"))
	p.turn("main", cd("A.md", "../z"))
	at(state.Abs("/d/x/z"))
	p.turn("main", reset("A.md"))
	at(state.Abs("/d/x/z"))
	p.turn("main", call("B.md", "C.md"))
	p.turn("main", cd("B.md", state.Abs("/abs")+"/../other"))
	at(state.Abs("/other"))
	p.turn("main", result("r"))
	at(state.Abs("/d/x/z"))
	p.turn("main", goTo("A.md"), protocol.Spawn{State: "B.md", Next: "A.md"}, protocol.Spawn{State: "B.md", Next: "A.md", Dir: "w"})
	equal(t, "workers", []string{p.agent("main_b1").Dir, p.agent("main_b2").Dir}, []string{"", state.Abs("/d/x/z/w")})
}

// TestWhoHasBroughtAnAgentToItsState, and how often it has entered it: of all that happens
// between two states only the tag, the answer and the comment count.
func TestWhoHasBroughtAnAgentToItsState(t *testing.T) {
	p := newPlay(t, nil)
	at := func(id, want string) {
		t.Helper()
		a := p.agent(id)
		equal(t, id+" at "+a.State, fmt.Sprint(a.By, ", ", a.Visits[a.State]), want)
	}
	at("main", "start, 1")
	p.ends("main", fail(state.Transient, "x"))
	p.now = p.agent("main").NotBefore
	p.ends("main", refused)
	p.start("main")
	p.resume(nil)
	p.ends("main", fail(state.Fatal, "x"))
	p.resume(nil)
	at("main", "start, 1")
	p.turn("main", goTo("A.md"))
	at("main", "agent A.md, 2")
	p.turn("main", call("S.sh", "B.md"))
	at("main", "agent A.md, 1")
	p.turn("main", result("r"))
	at("main", "script S.sh, 1")
	p.turn("main", goTo("S.sh"), protocol.Spawn{State: "S.sh", Next: "S.sh"})
	at("main", "agent B.md, 2")
	at("main_s1", "agent B.md, 1")
	p.turn("main", join("C.md"))
	p.turn("main_s1", result("r"))
	p.settle(anywhere)
	at("main", "script S.sh, 1")
	p.turn("main", ask("S.sh", "?"))
	p.do(func(s *state.Step) { s.Answer("main", 1, state.Answer{By: "ann"}) })
	at("main", "person ann, 3")
	m := askFor(time.Minute)
	m.To = "S.sh"
	p.turn("main", m)
	p.now = p.now.Add(time.Minute)
	p.settle(anywhere)
	at("main", "script S.sh, 2")
	p.turn("main", after("S.sh", time.Minute))
	p.now = p.now.Add(time.Minute)
	p.settle(anywhere)
	at("main", "agent C.md, 4") // the state that was not reached does not count
	p.start("main")
	again, err := state.Rerun(p.run, p.run.Progress.Iterations, state.Renewal{WorkflowID: "run-2", Mark: "fedcba9876543210", Now: p.now})
	assert.NilError(t, err)
	p.run = again
	at("main", "agent C.md, 4")
	p.run = newRun()
	p.run.FollowUp("A.md", "bob", state.Last{})
	at("main", "person bob, 1")

	p = newTries(t, protocol.Convergence{MaxAttempts: 2, OnExhausted: "C.md"}, nil)
	p.try("work fail work fail")
	at("main", "agent A.md, 1")
}

// TestModels: a function's wins over the state's, that over the run's; without
// any, a session in which one was chosen goes back to the one it began with.
func TestModels(t *testing.T) {
	for _, c := range []struct{ run, own, function, want string }{
		{"", "", "", ""}, {"run", "", "", "run"}, {"", "own", "", "own"}, {"run", "own", "", "own"},
		{"", "", "func", "func"}, {"run", "", "func", "func"}, {"run", "own", "func", "func"},
	} {
		p := newPlay(t, func(o *state.Options) { o.Model = c.run })
		p.policies["B.md"] = protocol.Policy{Model: c.own}
		p.turn("main", function("B.md", "A.md", c.function))
		equal(t, fmt.Sprintf("%+v", c), p.start("main").Model, c.want)
	}

	p := newPlay(t, nil)
	p.policies["B.md"] = protocol.Policy{Model: "own"}
	answered := func(move protocol.Move, model string) string {
		asked := p.start("main").Model
		p.end("main", state.Outcome{Model: model, Cost: cost(0), Decision: protocol.Decision{Then: move}})
		return asked
	}
	equal(t, "nothing asked for", answered(goTo("A.md"), "began"), "")
	equal(t, "still nothing", answered(goTo("B.md"), "began"), "")
	equal(t, "the state's own", answered(goTo("A.md"), "own"), "own")
	equal(t, "back to the first", answered(call("C.md", "A.md"), "began"), "began")
	equal(t, "a branch too", answered(function("C.md", "A.md", "func"), "began"), "began")
	equal(t, "a function's", answered(goTo("A.md"), "func"), "func")
	equal(t, "its session began with it", answered(result("r"), "func"), "func")
	equal(t, "only its first state", p.agent("main").Model, "")
}

// TestNamesOfForks: {parent}_{abbrev}{n}, n of the parent's own, a name passed over that an
// agent of another parent has or had.
func TestNamesOfForks(t *testing.T) {
	fork := func(to string) protocol.Spawn { return protocol.Spawn{State: to, Next: "A.md"} }
	p := newPlay(t, nil)
	p.turn("main", goTo("A.md"), fork("B.md"), fork("C.md"), fork("B.md"))
	p.turn("main_b1", goTo("A.md"), fork("B.md"), fork("B.md"), fork("B.md"), fork("C.md"), fork("C.md"))
	p.turn("main_b1_c4", result("r"))
	p.turn("main", goTo("A.md"), fork("b1_c.md"))
	var names []string
	for _, e := range p.events {
		if _, ok := e.Body.(*state.AgentStarted); ok {
			names = append(names, e.Agent)
		}
	}
	equal(t, "names", names, []string{
		"main", "main_b1", "main_c2", "main_b3", "main_b1_b1", "main_b1_b2", "main_b1_b3", "main_b1_c4", "main_b1_c5", "main_b1_c6",
	})
}

// TestWhereMainHasEndedIsKept, where a comment may continue its conversation: a run that
// follows begins in a branch of it.
func TestWhereMainHasEndedIsKept(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		p := newPlay(t, nil)
		if keeps {
			p.run.KeepLast()
		}
		p.turn("main", goTo("C.md"), protocol.Spawn{State: "B.md", Next: "C.md"})
		p.turn("main_b1", result("worker"))
		if last := p.run.Last; last != nil && *last != (state.Last{}) {
			t.Errorf("before main has ended: got %+v, want nothing", last)
		}
		p.turn("main", protocol.Move{Verb: protocol.Reset, To: "A.md", Dir: state.Abs("/elsewhere")})
		p.turn("main", result("done"))
		if !keeps {
			equal(t, "last", p.run.Last, (*state.Last)(nil))
			continue
		}
		last := *p.run.Last
		equal(t, "last", []any{last.Session.ID, last.Dir}, []any{"s3", state.Abs("/elsewhere")})
		p.run = newRun()
		p.run.FollowUp("B.md", "ann", last)
		p.do(func(s *state.Step) { s.Begin() })
		plan := p.plan("main")
		equal(t, "plan of the run that follows", []any{p.agent("main").State, plan.Mode, plan.Session.ID, p.agent("main").Dir},
			[]any{"B.md", state.Branch, "s3", state.Abs("/elsewhere")})
	}
}

// TestWhatAnAgentCLICantDo: a conversation stays with the CLI that began it; a call that can't
// branch it is refused, and else a new one begins, with a note.
func TestWhatAnAgentCLICantDo(t *testing.T) {
	codex := state.CLI{Name: protocol.BackendCodex}
	deaf := state.CLI{Name: protocol.BackendClaude}
	for _, c := range []struct {
		name   string
		move   protocol.Move
		policy protocol.Policy
		cli    state.CLI
		want   string // the mode, or what is in the refusal
	}{
		{"another CLI", goTo("C.md"), protocol.Policy{}, codex, "belongs to the agent claude; reach the state by <reset>, <function> or <fork>"},
		{"another CLI, called", call("C.md", "B.md"), protocol.Policy{}, codex, "belongs to the agent claude"},
		{"another CLI, with attempts", goTo("C.md"),
			protocol.Policy{Convergence: &protocol.Convergence{AttemptContext: "fresh"}}, codex, "belongs to the agent claude"},
		{"another CLI, after a reset", reset("C.md"), protocol.Policy{}, codex, "fresh"},
		{"one that told no session", goTo("C.md"), protocol.Policy{}, deaf, "fresh, the agent claude can't continue its conversation, since it told no session"},
		{"the same, called", call("C.md", "B.md"), protocol.Policy{}, deaf, "which branches the conversation of the caller, but the agent claude can't branch it"},
	} {
		p := newPlay(t, nil)
		p.turn("main", c.move)
		p.policies["C.md"] = c.policy
		plan := p.agent("main").Plan(p.state("C.md"), c.cli)
		if got := fmt.Sprint(plan.Mode, ", ", plan.Note, plan.Refused); !strings.Contains(got, c.want) || strings.HasPrefix(c.want, "fresh") != (plan.Refused == "") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	p := newPlay(t, nil)
	p.turn("main", goTo("B.md"))
	told := *p.agent("main").Session
	for id, want := range map[string]string{"": "fresh it told no session", "thread-1": "resume "} {
		told.Backend, told.CLIID = protocol.BackendCodex, id
		a := *p.agent("main")
		a.Session = &told
		plan := a.Plan(p.state("B.md"), codex)
		_, why, _ := strings.Cut(plan.Note, "since ")
		why, _, _ = strings.Cut(why, ":")
		equal(t, "the session "+id, string(plan.Mode)+" "+why, want)
	}
}
