package state_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// newTries is a play whose main is in a state that a command decides on.
func newTries(t *testing.T, c protocol.Convergence, change func(*state.Options)) *play {
	p := newPlay(t, change)
	p.tries(c)
	return p
}

// tries has a command decide on the state A.md.
func (p *play) tries(c protocol.Convergence) {
	c.DoneWhen, c.MaxAttempts, c.OnExhausted = []string{"check"}, cmp.Or(c.MaxAttempts, 3), cmp.Or(c.OnExhausted, "fail")
	p.policies["A.md"] = protocol.Policy{Convergence: &c}
}

// noTag is an answer without any move, and badTag one with a move that is not allowed.
var (
	noTag  = state.Outcome{Problems: []protocol.Problem{{Code: protocol.NoTag, Message: "no tag"}}, Reminder: "again"}
	badTag = state.Outcome{Problems: []protocol.Problem{{Code: "bad", Message: "bad tag"}}, Reminder: "again"}
)

// answers are the ends of agent runs, by the words that try takes.
func answers(word string) state.Outcome {
	o := map[string]state.Outcome{
		"work": {Decision: protocol.Decision{Then: goTo("B.md"), Spawns: []protocol.Spawn{{State: "C.md", Next: "B.md"}}}},
		"mute": noTag, "bad": badTag, "died": noTag, "down": noTag, "fatal": noTag, "died-done": {Decision: protocol.Decision{Then: goTo("B.md")}},
	}[word]
	class := map[string]state.Class{"died": state.Transient, "died-done": state.TimedOut, "down": state.Service, "fatal": state.Fatal}[word]
	if class != "" {
		o.Failure = &state.Failure{Class: class, Message: word}
	}
	o.Cost = cost(1)
	return o
}

// try has what comes next in the state happen, word by word: an end of the agent's run, the
// verdict of the command, a "stop" of it, or a "crash", after which the run is resumed. It
// returns how the agent was run each time.
func (p *play) try(words string) []string {
	p.t.Helper()
	var runs []string
	for word := range strings.FieldsSeq(words) {
		if word == "more" {
			p.resume(nil)
			continue
		}
		if a := p.agent("main"); a.NotBefore.After(p.now) {
			p.now = a.NotBefore
		}
		assert.Equal(p.t, p.next(0), "main", "what runs before %q of %q", word, words)
		if run := how(p.start("main")); run != "" {
			runs = append(runs, run)
		}
		verifies := p.agent("main").Exec.Phase == state.PhaseVerify
		v := state.Verification{Results: []state.CommandResult{{Cmd: "check", Tail: "tail of it"}}}
		switch word {
		case "crash":
			p.resume(nil)
			continue
		case "fail":
			v.Results[0].RC = 1
		case "slip":
			v.Results[0].RC, v.Changed = 1, []string{"a_test.go"}
		case "spoil":
			v.Changed = []string{"a_test.go", "b_test.go"}
		case "lose":
			v.Changed, v.Lost = []string{"a_test.go", "b_test.go"}, []string{"b_test.go"}
		case "stop":
			v = state.Verification{Stopped: "SIGINT"}
		}
		isVerdict := slices.Contains([]string{"pass", "fail", "slip", "spoil", "lose", "stop"}, word)
		assert.Equal(p.t, isVerdict, verifies, "at %q of %q: the command is to run: %v", word, words, verifies)
		if !isVerdict {
			p.end("main", answers(word))
			continue
		}
		p.do(func(s *state.Step) { s.EndVerification("main", p.state("A.md"), v) })
		if word == "stop" {
			p.resume(nil)
		}
	}
	return runs
}

// verdicts are the reasons of the attempts so far; "ok" for one that passed.
func (p *play) verdicts() []string {
	words := []string{}
	for _, n := range bodies[*state.NodeAttempt](p) {
		reason := n.Reason
		if n.Converged {
			reason = "ok"
		}
		words = append(words, fmt.Sprint(n.Attempt, " ", reason))
	}
	return words
}

// TestAttemptsAndBackoff: the commands decide whether an attempt was the last one, and waits
// double from the base up to the maximum, while others work.
func TestAttemptsAndBackoff(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		base, most time.Duration
		attempts   int
		passes     int // 0: never
		waits      []time.Duration
	}{
		{2 * s, 60 * s, 6, 1, nil},
		{2 * s, 60 * s, 6, 6, []time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 32 * s}},
		{2 * s, 60 * s, 8, 0, []time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}},
		{0, 0, 3, 3, []time.Duration{0, 0}},
		{9 * s, 7 * s, 3, 0, []time.Duration{7 * s, 7 * s}},
		{2 * s, 60 * s, 1, 0, nil},
	} {
		p := newTries(t, protocol.Convergence{MaxAttempts: c.attempts, Backoff: protocol.Backoff{Base: c.base, Max: c.most}}, nil)
		var waits []time.Duration
		for n := 1; n <= len(c.waits)+1; n++ {
			if n == c.passes {
				p.try("work pass")
				break
			}
			p.try("work fail")
			if a := p.agent("main"); a.Exec != nil && a.Status == state.Ready {
				waits = append(waits, max(0, a.NotBefore.Sub(p.now)))
				equal(t, "an attempt before its time", p.next(0) == "main", waits[n-1] == 0)
			}
		}
		equal(t, fmt.Sprintf("waits of %+v", c), waits, c.waits)
		told := bodies[*state.NodeAttempt](p)
		for i, n := range told {
			if i > 0 {
				equal(t, "wait in the event", *n.BackoffS, c.waits[i-1].Seconds())
			}
			equal(t, "verdict", []any{n.Attempt, n.Converged, n.USD}, []any{i + 1, i+1 == c.passes, state.USD(1)})
		}
		isDone := p.agent("main").State == "B.md" && len(p.run.Agents) == 2
		equal(t, "it was done, and its move made", isDone, c.passes > 0)
	}
}

// TestVerdicts: what the commands say is the verdict, whatever became of the agent's run; the
// move is that of the last answer, and has no effect before. Reminders and retries are within
// an attempt.
func TestVerdicts(t *testing.T) {
	const gaveUp, noMove = "max_ralph_iters_reached", "no_transition_tag"
	for words, want := range map[string]struct {
		verdicts []string
		flakes   int
		failure  string // of the agent
	}{
		"work fail work pass":                                    {[]string{"1 done_when_failed", "2 ok"}, 1, ""},
		"work spoil work pass":                                   {[]string{"1 protected_files_changed: a_test.go, b_test.go", "2 ok"}, 1, ""},
		"work lose":                                              {[]string{"1 protected_files_changed: a_test.go, b_test.go"}, 0, "protected_files_changed: b_test.go; there is no copy to put back"},
		"mute pass work pass":                                    {[]string{"1 ok"}, 0, ""},
		"mute pass mute mute":                                    {[]string{"1 no_transition_tag"}, 0, noMove + ": no tag (after 2 reminders)"},
		"mute pass mute mute more work pass":                     {nil, 0, ""},
		"work fail mute pass mute mute":                          {[]string{"1 done_when_failed", "2 no_transition_tag"}, 0, noMove},
		"mute fail work pass":                                    {[]string{"1 done_when_failed", "2 ok"}, 1, ""},
		"bad pass bad bad work pass":                             {[]string{"1 no_transition_tag", "2 ok"}, 1, ""},
		"died died work pass":                                    {[]string{"1 ok"}, 0, ""},
		"died died died pass work pass":                          {[]string{"1 ok"}, 0, ""},
		"died died died pass died":                               {[]string{}, 0, noMove + ": died"},
		"died died died fail work pass":                          {[]string{"1 done_when_failed", "2 ok"}, 1, ""},
		"died-done died-done died-done pass":                     {[]string{"1 ok"}, 0, ""},
		"down down fail":                                         {[]string{"1 done_when_failed"}, 0, "down"},
		"fatal":                                                  {[]string{}, 0, "fatal"},
		"work stop pass":                                         {[]string{"1 ok"}, 0, ""},
		"work fail crash work pass":                              {[]string{"1 done_when_failed", "2 ok"}, 1, ""},
		"work fail work crash pass":                              {[]string{"1 done_when_failed", "2 ok"}, 1, ""},
		"work fail work fail work fail":                          {[]string{"1 done_when_failed", "2 done_when_failed", "3 done_when_failed"}, 0, gaveUp},
		"work fail work fail work fail more work fail work pass": {nil, 1, ""},
	} {
		p := newTries(t, protocol.Convergence{}, func(o *state.Options) { o.OverloadWait = new(state.Duration(time.Second)) })
		p.try(words)
		if want.verdicts != nil {
			verdicts := p.verdicts()
			equal(t, words+": verdicts", verdicts[:min(len(verdicts), len(want.verdicts))], want.verdicts)
		}
		a := p.agent("main")
		equal(t, words+": flakes", p.run.Progress.FlakeRetries, want.flakes)
		equal(t, words+": moved", []any{a.State, len(p.run.Agents) > 1}, map[bool][]any{
			true: {"B.md", !strings.HasPrefix(words, "died-done")}, false: {"A.md", false},
		}[want.failure == ""])
		if f := a.Failure; (f != nil) != (want.failure != "") || f != nil && !strings.HasPrefix(f.Message, want.failure) {
			t.Errorf("%s: got the failure %+v, want %q", words, f, want.failure)
		}
	}
}

// TestConversationsOfAttempts: which one each agent run of a state is part of, and the state
// after it. s1 is the conversation in which the state is entered.
func TestConversationsOfAttempts(t *testing.T) {
	for _, c := range []struct {
		context, words string
		want           []string // of the words, and of the state after
	}{
		{"entry", "work fail work fail work pass", []string{"branch s2 s1", "branch s3 s1", "branch s4 s1", "resume s4"}},
		{"fresh", "work fail work fail work pass", []string{"fresh s2", "fresh s3", "fresh s4", "resume s4"}},
		{"continue", "work fail work fail work pass", []string{"branch s2 s1", "resume s2", "resume s2", "resume s2"}},
		{"entry", "died mute fail mute pass died work pass", []string{"branch s2 s1", "branch s3 s1", "branch s4 s1", "resume s4", "resume s4", "resume s4"}},
		{"continue", "died mute fail mute pass died work pass", []string{"branch s2 s1", "branch s3 s1", "resume s3", "resume s3", "resume s3", "resume s3"}},
		{"entry", "work fail crash work pass", []string{"branch s2 s1", "branch s3 s1", "branch s4 s1", "resume s4"}},
	} {
		p := newTries(t, protocol.Convergence{AttemptContext: c.context}, nil)
		p.policies["C.md"] = protocol.Policy{}
		p.run.Agents[0].State, p.run.Agents[0].Visits = "C.md", map[string]int{"C.md": 1}
		p.turn("main", goTo("A.md"))
		got := append(p.try(c.words), how(p.start("main")))
		equal(t, c.context+": "+c.words, got, c.want)
	}
}

// TestExhausted: what follows from the last attempt is the state's to say.
func TestExhausted(t *testing.T) {
	p := newTries(t, protocol.Convergence{MaxAttempts: 1, OnExhausted: "suspend"}, nil)
	p.try("work fail")
	end := p.closed(nil)
	equal(t, "suspends", []any{end.Status, end.Reason}, []any{state.Suspended, "agent main in state A.md: not done after 1 attempt: `check` ended with exit code 1 (max_ralph_iters_reached)"})
	p.try("more work pass")
	equal(t, "as a new execution", []any{p.run.Progress.Iterations, p.run.Progress.FlakeRetries}, []any{2, 0})

	p = newTries(t, protocol.Convergence{MaxAttempts: 2}, nil)
	p.try("work spoil work slip")
	const both = "`check` ended with exit code 1, and it changed protected files, which were put back: a_test.go"
	equal(t, "fails", p.closed(nil).Reason, "agent main in state A.md: not done after 2 attempts: "+both+" (max_ralph_iters_reached)")
	told := p.agent("main").Exec.Verdict.Report(2)
	assert.Check(t, is.Contains(told, "it changed protected files, which were put back: a_test.go.\n\nCommand: check\n"), "the agent is told %q", told)

	p = newTries(t, protocol.Convergence{MaxAttempts: 2, OnExhausted: "C.md"}, nil)
	p.try("work fail work fail")
	a := p.agent("main")
	equal(t, "goes to a state, in a new conversation", []any{a.State, how(p.start("main"))}, []any{"C.md", "fresh s3"})
	if report := string(a.Report); !strings.HasPrefix(report, "Attempt 2 of 2") || !strings.Contains(report, "tail of it") {
		t.Errorf("report: got %q, want that on the last attempt", report)
	}
	p.end("main", answers("work"))
	equal(t, "the report goes to no other state", p.agent("main").Report, state.Text(""))
	finished := bodies[*state.StateFinished](p)
	equal(t, "ends", []string{finished[0].Error, finished[1].Error}, []string{"max_ralph_iters_reached", ""})
}

// TestAReminderOverTheBudgetIsNotSent, nor another attempt made; the command, which costs
// nothing, gives its verdict all the same.
func TestAReminderOverTheBudgetIsNotSent(t *testing.T) {
	for words, want := range map[string]string{"mute pass": "resume s1", "work fail": "fresh s2", "work pass": "resume s1"} {
		p := newTries(t, protocol.Convergence{}, func(o *state.Options) { o.BudgetUSD = 1 })
		p.now = p.now.Add(time.Hour)
		first, rest, _ := strings.Cut(words, " ")
		p.start("main")
		o := answers(first)
		o.Cost = cost(2)
		p.end("main", o)
		p.try(rest)
		equal(t, words, []any{p.next(0), p.closed(nil).Status}, []any{"", state.OverBudget})
		p.resume(func(o *state.Options) { o.BudgetUSD = state.Dollar })
		p.now = p.now.Add(time.Hour)
		equal(t, words+", with more", how(p.start("main")), want)
	}
}
