package runner_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

func TestAttemptsAndBackoff(t *testing.T) {
	for _, tt := range []struct {
		front   string
		passes  int
		waits   []time.Duration
		status  state.Status
		outcome string
		flakes  int
	}{
		{"", 1, nil, state.Completed, "clean", 0},
		{"", 2, secondsOf(2), state.Completed, "clean_with_flake", 1},
		{"", 6, secondsOf(2, 4, 8, 16, 32), state.Completed, "clean_with_flake", 1},
		{"", 0, secondsOf(2, 4, 8, 16, 32), state.Failed, "failed", 0},
		{"max_attempts: 8\n", 0, secondsOf(2, 4, 8, 16, 32, 60, 60), state.Failed, "failed", 0},
		{"max_attempts: 8\n", 8, secondsOf(2, 4, 8, 16, 32, 60, 60), state.Completed, "clean_with_flake", 1},
		{"max_ralph_iters: 3\n", 0, secondsOf(2, 4), state.Failed, "failed", 0},
		{"max_attempts: 1\n", 0, nil, state.Failed, "failed", 0},
		{"backoff: none\n", 3, secondsOf(0, 0), state.Completed, "clean_with_flake", 1},
		{"backoff: {base: 3s, max: 7s}\n", 5, secondsOf(3, 6, 7, 7), state.Completed, "clean_with_flake", 1},
		{"backoff: {base: 9s, max: 7s}\n", 3, secondsOf(7, 7), state.Completed, "clean_with_flake", 1},
		{"max_attempts: 30\nbackoff: {base: 2s, max: 3s}\n", 30, append(secondsOf(2), slices.Repeat(secondsOf(3), 28)...),
			state.Completed, "clean_with_flake", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, once(tt.front), func(o *state.Options) { o.BudgetUSD = 0 })
			l.passes["A.md"] = tt.passes
			began := time.Now()
			l.drive(false, tt.status)
			label := fmt.Sprintf("%q, passing at %d", tt.front, tt.passes)
			calls := len(tt.waits) + 1
			same(t, label+": agent runs, verifications", []int{calls, calls}, []int{len(l.orders), len(l.checks)})
			same(t, label+": back-offs", tt.waits, l.waits())
			took := time.Duration(calls) * (agentTime + commandTime)
			for _, w := range tt.waits {
				took += w
			}
			same(t, label+": whole time, no back-off after the last attempt", took, time.Since(began))
			end := l.end()
			same(t, label+": outcome", tt.outcome, end.Outcome)
			same(t, label+": flake_retries", []int{tt.flakes, tt.flakes}, []int{end.FlakeRetries, l.run.Progress.Flakes})
			wantVerdicts(t, label, l.attempts(), tt.waits, tt.status == state.Completed)
		})
	}
}

// wantVerdicts checks the events of the attempts of the one state of a run.
func wantVerdicts(t *testing.T, label string, got []*state.NodeAttempt, waits []time.Duration, converges bool) {
	t.Helper()
	var want []*state.NodeAttempt
	for i := range len(waits) + 1 {
		n := &state.NodeAttempt{Attempt: i + 1, CostUSD: state.Dollar / 10, DurationS: (agentTime + commandTime).Seconds(), Reason: "done_when_failed"}
		for _, cmd := range []string{"check", "lint"} {
			n.Results = append(n.Results, state.CommandResult{Cmd: cmd, RC: 3, DurationS: 0.5, Tail: fmt.Sprintf("tail of attempt %d", i+1)})
		}
		if i > 0 {
			n.BackoffS = new(waits[i-1].Seconds())
		}
		want = append(want, n)
	}
	if last := want[len(want)-1]; converges {
		last.Converged, last.Reason = true, ""
		last.Results = []state.CommandResult{{Cmd: "check", DurationS: 0.5}, {Cmd: "lint", DurationS: 0.5}}
	}
	same(t, label+": node_attempt events", want, got)
}

// TestWhatIsVerified holds what the commands are run with.
func TestWhatIsVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{
			"A": "---\ndone_when: one command\ndone_when_timeout: 90s\nprotect: ['**/*_test.go']\n---\n<reset cd=\"/\">B</reset>",
			"B": "---\ndone_when: [two]\n---\n<result>x</result>",
		}, nil)
		l.passes["A.md"], l.passes["B.md"], l.exits = 2, 1, 1
		l.drive(false, state.Completed)
		if len(l.checks) != 3 {
			t.Fatalf("verifications: got %d, want 3", len(l.checks))
		}
		first, again, other := l.checks[0], l.checks[1], l.checks[2]
		same(t, "commands", []string{"one command"}, first.Commands)
		same(t, "timeouts", []time.Duration{90 * time.Second, 10 * time.Minute}, []time.Duration{first.Timeout, other.Timeout})
		same(t, "directories", []string{l.run.Dir, "/"}, []string{first.Dir, other.Dir})
		same(t, "logs", []string{"/logs/main/A.md.log", "/logs/main/B.md.log"}, []string{first.LogFile, other.LogFile})
		same(t, "numbers", []int{1, 2, 1}, []int{first.Attempt, again.Attempt, other.Attempt})
		same(t, "variables", []string{"RAYMOND_WORKFLOW_ID=run-1", "RAYMOND_AGENT_ID=main", "RAYMOND_STATE=A.md"}, first.Env)
		same(t, "exit code of the agent CLI, only logged", 1, first.AgentCode)
		same(t, "protected files are looked at once, on entry", []string{l.run.Dir + " **/*_test.go"}, l.digests)
		want := map[string]string{"a_test.go": "digest 1"}
		same(t, "protected files of both attempts", []map[string]string{want, want}, []map[string]string{first.Protected, again.Protected})
		marks := map[string]bool{}
		for _, m := range []string{first.Mark, again.Mark, other.Mark, l.order(0).Mark, l.order(1).Mark} {
			marks[m] = true
		}
		same(t, "marks that differ", 5, len(marks))
	})
}

func TestASecondVisitBeginsAtAttemptOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "---\ndone_when: [check]\nmax_attempts: 2\n---\n{{attempt}} {{failure}}|\n<goto>A</goto> or <result>x</result>"}, nil)
		l.says["A.md"] = []string{"<goto>A</goto>", "<goto>A</goto>", "<result>x</result>"}
		l.passes["A.md"] = 2
		l.drive(false, state.Completed)
		same(t, "attempts", []int{1, 2, 1, 2}, l.numbers())
		same(t, "back-offs", secondsOf(2, 0, 2), l.waits())
		same(t, "flakes, iterations", []int{2, 2}, []int{l.end().FlakeRetries, l.end().Iterations})
		if p := l.order(2).Prompt.Text; !strings.HasPrefix(p, "1 |") {
			t.Errorf("prompt of the second visit: got %q, want nothing of the first one's failures in it", p)
		}
	})
}

// TestTagsOfFailedAttemptsHaveNoEffect: what an attempt asked for happens when it
// converges, and then once.
func TestTagsOfFailedAttemptsHaveNoEffect(t *testing.T) {
	for _, tt := range []struct {
		tag  string
		want []string // transitions, and agents that began
	}{
		{`<fork next="B" item="1">C</fork>`, []string{"A call L.md", "L fork C.md", "main_c1", "C result", "B result R.md", "R result"}},
		{`<fork next="B" cd="/">C</fork>`, []string{"A call L.md", "L fork C.md", "main_c1", "C result", "B result R.md", "R result"}},
		{`<goto>B</goto>`, []string{"A call L.md", "L goto B.md", "B result R.md", "R result"}},
		{`<reset cd="/">B</reset>`, []string{"A call L.md", "L reset B.md", "B result R.md", "R result"}},
		{`<call return="B">C</call>`, []string{"A call L.md", "L call C.md", "C result B.md", "B result R.md", "R result"}},
		{`<function return="B">C</function>`, []string{"A call L.md", "L function C.md", "C result B.md", "B result R.md", "R result"}},
		{`<result>from the loop</result>`, []string{"A call L.md", "L result R.md", "R result"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{
				"A": `<call return="R">L</call>`, "L": "---\ndone_when: [check]\n---\n" + tt.tag,
				"B": `<result>b</result>`, "C": `<result>c</result>`, "R": "got {{result}}\n<result>r</result>",
			}, nil)
			l.passes["L.md"] = 4
			l.drive(false, state.Completed)
			wantNoEffect(t, tt.tag, l)
			same(t, tt.tag+": what came of it", tt.want, inOrder(l, tt.want))
			same(t, tt.tag+": attempts", []int{1, 2, 3, 4}, l.numbers())
			same(t, tt.tag+": visits after the loop", []int{1, 1}, []int{len(l.asked("L")) - 3, len(l.asked("R"))})
		})
	}
}

// wantNoEffect checks every save of a run that stands in state L, which another
// one called.
func wantNoEffect(t *testing.T, tag string, l *loop) {
	t.Helper()
	for i, data := range l.store.saves {
		saved := decoded(t, data)
		if len(saved.Agents) == 0 || saved.Agents[0].State != "L.md" {
			continue
		}
		a := saved.Agents[0]
		if len(saved.Agents) != 1 || len(a.Stack) != 1 || a.Dir != "" || a.Forks != 0 || len(saved.Ended) != 0 {
			t.Errorf("%s: save %d, in the loop: got %d agents, a stack of %d, directory %q, %d forks, %d ended\nwant 1, 1, none, 0, 0",
				tag, i+1, len(saved.Agents), len(a.Stack), a.Dir, a.Forks, len(saved.Ended))
		}
	}
	for _, o := range l.asked("L") {
		same(t, tag+": directory of an attempt", l.run.Dir, o.Dir)
	}
}

// inOrder are the transitions of a run and the agents that began, sorted like
// want as far as they are in it: agents run beside each other.
func inOrder(l *loop, want []string) []string {
	var got []string
	for _, e := range l.log.events {
		switch b := e.Body.(type) {
		case *state.Transition:
			got = append(got, strings.TrimSpace(strings.TrimSuffix(e.State, ".md")+" "+b.Tag+" "+b.Target))
		case *state.AgentStarted:
			if b.Parent != "" {
				got = append(got, e.Agent)
			}
		}
	}
	slices.SortStableFunc(got, func(a, b string) int { return slices.Index(want, a) - slices.Index(want, b) })
	return got
}

// TestAForbiddenTagIsAFailedAttempt: the agent is reminded inside the attempt;
// then the attempt fails though all commands pass.
func TestAForbiddenTagIsAFailedAttempt(t *testing.T) {
	f := flow{
		"A": "---\ndone_when: [check]\nallowed_tags: [result]\nmax_attempts: 2\n---\nwork\n<result>x</result>",
		"B": "<result>b</result>",
	}
	for _, says := range []string{"<goto>B</goto>", "<result>1</result><result>2</result>"} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, f, nil)
			l.says["A.md"], l.passes["A.md"] = []string{says}, 1
			l.drive(false, state.Failed)
			same(t, says+": agent runs, reminders, verifications", []int{6, 4, 2},
				[]int{len(l.orders), len(told[*state.Reminder](l)), len(l.checks)})
			for _, n := range l.attempts() {
				same(t, says+": verdict", []any{false, "no_transition_tag", 3 * state.Dollar / 10}, []any{n.Converged, n.Reason, n.CostUSD})
			}
			if r := l.run.Progress.Reason; !strings.Contains(r, "max_ralph_iters_reached") {
				t.Errorf("%s: reason: got %q, want max_ralph_iters_reached in it", says, r)
			}
			if p := l.order(3).Prompt.Text; !strings.Contains(p, "transition tag") || !strings.HasPrefix(p, "work") {
				t.Errorf("%s: prompt of attempt 2: got %q, want the state's own, and that a tag is missing", says, p)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, f, nil)
			l.says["A.md"], l.passes["A.md"] = []string{says, says, says, says, "<result>x</result>"}, 1
			l.drive(false, state.Completed)
			same(t, says+", then a good one: agent runs, flakes", []int{5, 1}, []int{len(l.orders), l.end().FlakeRetries})
		})
	}
}

// TestDoneWorkWithoutATag: the reminders ask for it in the attempt's session, then
// the agent fails at once, and no further attempt is paid for. A resume asks again.
func TestDoneWorkWithoutATag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, once(""), nil)
		l.says["A.md"], l.passes["A.md"] = []string{"nothing"}, 1
		l.drive(false, state.Failed)
		same(t, "agent runs, reminders, verifications", []int{3, 2, 1},
			[]int{len(l.orders), len(told[*state.Reminder](l)), len(l.checks)})
		same(t, "conversations", []string{"fresh s1", "resume s1", "resume s1"}, conversations(l.orders))
		verdict := l.attempts()[0]
		same(t, "verdict", []any{1, false, "no_transition_tag", 2}, []any{len(l.attempts()), verdict.Converged, verdict.Reason, len(verdict.Results)})
		if r := l.run.Progress.Reason; !strings.Contains(r, "no_transition_tag") {
			t.Errorf("reason: got %q, want no_transition_tag in it", r)
		}
		l.says["A.md"] = append(l.says["A.md"], "nothing", "nothing", "<result>x</result>")
		l.drive(true, state.Completed)
		same(t, "after the resume", []string{"fresh s1", "resume s1", "resume s1", "resume s1"}, conversations(l.orders))
		same(t, "outcome, verifications", []any{"clean", 2}, []any{l.end().Outcome, len(l.checks)})
	})
}

// TestAttemptsWithoutAGoodRecordAreJudged: what the commands say is the verdict,
// whatever became of the agent run; what its text says, or the only transition, is
// the move.
func TestAttemptsWithoutAGoodRecordAreJudged(t *testing.T) {
	const implicit = "---\ndone_when: [check]\nallowed_transitions: [{tag: goto, target: B}]\n---\nwork"
	for _, tt := range []struct {
		text, says  string
		runs, judge int // agent runs in A, and verifications, when all fail alike and the commands pass
		status      state.Status
		reason      string
	}{
		{implicit, "work", 1, 1, state.Completed, ""},
		{implicit, "transient!died", 3, 1, state.Completed, ""},
		{implicit, "timeout!no answer after 1h", 3, 1, state.Completed, ""},
		{implicit, "service!529", 4, 1, state.Completed, ""},
		{implicit, "fatal!bad request", 1, 0, state.Failed, "bad request"},
		{implicit, "runtime!no such program", 1, 0, state.Failed, "no such program"},
		{once("")["A"], "transient!died", 4, 1, state.Failed, "no_transition_tag: died"}, // the last is a reminder
		{once("")["A"], "service!529", 5, 1, state.Failed, "529"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": tt.text, "B": "<result>b</result>"}, func(o *state.Options) { o.OverloadWait = new(state.Duration(10 * time.Second)) })
			l.says["A.md"], l.passes["A.md"] = []string{tt.says}, 1
			l.drive(false, tt.status)
			same(t, tt.says+": agent runs, verifications", []int{tt.runs, tt.judge}, []int{len(l.asked("A")), len(l.checks)})
			same(t, tt.says+": flakes", 0, l.end().FlakeRetries)
			if r := l.run.Progress.Reason; !strings.Contains(r, tt.reason) {
				t.Errorf("%s: reason: got %q, want %q in it", tt.says, r, tt.reason)
			}
		})
	}
}

// TestAnOutageEndsALoop: when the commands fail too, no further attempt meets the
// same outage.
func TestAnOutageEndsALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, once(""), func(o *state.Options) { o.OverloadWait = new(state.Duration(10 * time.Second)) })
		l.says["A.md"] = []string{"service!529"}
		l.drive(false, state.Failed)
		same(t, "verdicts, verifications", []int{1, 1}, []int{len(l.attempts()), len(l.checks)})
		if r := l.run.Progress.Reason; !strings.Contains(r, "529") || !strings.Contains(r, "--overload-wait") {
			t.Errorf("reason: got %q, want the service's error", r)
		}
	})
}

// TestCommandsRunThoughTheTagIsBad: what they say is the reason, and it is the
// last answer that counts.
func TestCommandsRunThoughTheTagIsBad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, once("max_attempts: 1\n"), nil)
		l.says["A.md"] = []string{"nothing"}
		l.drive(false, state.Failed)
		same(t, "reason", "done_when_failed", l.attempts()[0].Reason)
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, once("max_attempts: 2\n"), func(o *state.Options) { o.MaxReminders = 0 })
		l.says["A.md"], l.passes["A.md"] = []string{"<result>good</result>", "nothing"}, 2
		l.drive(false, state.Failed)
		same(t, "reason, when only the failed attempt had a tag", "no_transition_tag", l.attempts()[1].Reason)
	})
}

// TestRetriesAreInsideTheAttempt: an invocation without a result record is tried
// again; when that is exhausted the commands say whether the attempt failed. Only a
// refused agent run gets no verdict.
func TestRetriesAreInsideTheAttempt(t *testing.T) {
	good, down := "<result>x</result>", "transient!overloaded"
	for _, tt := range []struct {
		says     []string
		status   state.Status
		outcome  string
		verdicts int
	}{
		{[]string{down, down, good}, state.Completed, "clean", 1},
		{[]string{good, down, down, good}, state.Completed, "clean_with_flake", 2},
		{[]string{down, down, good, down, down, good}, state.Completed, "clean_with_flake", 2},
		{[]string{down}, state.Failed, "failed", 6},
		{[]string{good, down}, state.Failed, "failed", 6},
		{[]string{down, down, down, good}, state.Completed, "clean_with_flake", 2},
		{[]string{"fatal!no such model"}, state.Failed, "failed", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, once(""), nil)
			l.says["A.md"] = tt.says
			if tt.status == state.Completed {
				l.passes["A.md"] = tt.verdicts
			}
			l.drive(false, tt.status)
			label := strings.Join(tt.says, " ")
			same(t, label, []any{tt.outcome, tt.verdicts}, []any{l.end().Outcome, len(l.attempts())})
			for i, n := range l.numbers() {
				same(t, label+": number", i+1, n)
			}
			if exhausted := strings.Contains(l.run.Progress.Reason, "max_ralph"); exhausted != (tt.verdicts == 6) {
				t.Errorf("%s: reason: got %q", label, l.run.Progress.Reason)
			}
		})
	}
}

func TestProtectedFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, once("protect: ['**/*_test.go']\n"), nil)
		l.passes["A.md"], l.spoils = 1, map[string]int{"A.md": 2}
		l.drive(false, state.Completed)
		var got []string
		for _, n := range l.attempts() {
			got = append(got, n.Reason)
		}
		reason := "protected_files_changed: a_test.go, sub/b_test.go"
		same(t, "reasons, though all commands pass", []string{reason, reason, ""}, got)
		if p := l.order(1).Prompt.Text; !strings.Contains(p, "a_test.go, sub/b_test.go") {
			t.Errorf("prompt of attempt 2: got %q, want the files named", p)
		}
	})
}

func TestExhaustedFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, once("max_attempts: 3\n"), nil)
		l.drive(false, state.Failed)
		same(t, "reason", "agent main in state A.md: max_ralph_iters_reached", l.run.Progress.Reason)
		finished := told[*state.StateFinished](l)
		same(t, "state_started, state_finished", []int{1, 1}, []int{len(told[*state.StateStarted](l)), len(finished)})
		same(t, "its error, cost and turns", []any{"max_ralph_iters_reached", 3 * state.Dollar / 10, 3},
			[]any{finished[0].Error, finished[0].CostUSD, finished[0].Turns})
		same(t, "error of the agent", "max_ralph_iters_reached", told[*state.AgentFinished](l)[0].Error)
		l.passes["A.md"] = 2
		l.drive(true, state.Completed)
		same(t, "prompts of a second series", []string{"try 1", "try 2"}, []string{l.order(3).Prompt.Text[:5], l.order(4).Prompt.Text[:5]})
		if strings.Contains(l.order(3).Prompt.Text, "tail of") {
			t.Errorf("first prompt of the second series: got %q, want no report", l.order(3).Prompt.Text)
		}
	})
}

func TestExhaustedSuspends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, once("max_attempts: 2\non_exhausted: suspend\n"), nil)
		l.drive(false, state.Suspended)
		same(t, "outcome", "suspended", l.end().Outcome)
		if r := l.run.Progress.Reason; !strings.Contains(r, "max_ralph_iters_reached") || !strings.Contains(r, "A.md") {
			t.Errorf("reason: got %q, want the state and max_ralph_iters_reached in it", r)
		}
		same(t, "agent runs", 2, len(l.orders))
		l.drive(true, state.Suspended)
		same(t, "agent runs after a resume", 4, len(l.orders))
		l.passes["A.md"] = 2
		l.drive(true, state.Completed)
		same(t, "attempts", []int{1, 2, 1, 2, 1, 2}, l.numbers())
		same(t, "flakes, executions", []int{1, 3}, []int{l.end().FlakeRetries, l.end().Iterations})
	})
}

func TestExhaustedGoesToAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{
			"A":    "<goto>TRY</goto>",
			"TRY":  "---\ndone_when: [check]\nmax_attempts: 2\non_exhausted: HELP\nattempt_context: continue\n---\n<result>x</result>",
			"HELP": "help {{result}}[{{failure}}]\n<goto>END</goto>", "END": "end {{failure}}\n<result>y</result>",
		}, nil)
		l.drive(false, state.Completed)
		help, end := l.asked("HELP")[0], l.asked("END")[0]
		same(t, "session", state.Fresh, help.Prompt.Session)
		if p := help.Prompt.Text; !strings.HasPrefix(p, "help [Attempt 2 of 2") || !strings.Contains(p, "tail of attempt 2") || strings.Contains(p, "tail of attempt 1") {
			t.Errorf("prompt: got %q, want the report of attempt 2 in the place of {{failure}}, and no payload", p)
		}
		same(t, "the state after goes on in that session", []any{state.Resume, help.Prompt.SessionID}, []any{end.Prompt.Session, end.Prompt.SessionID})
		if strings.Contains(end.Prompt.Text, "tail of") {
			t.Errorf("prompt of the state after: got %q, want no report in it", end.Prompt.Text)
		}
		same(t, "agent runs of the state, outcome", []any{2, "clean"}, []any{len(l.asked("TRY")), l.end().Outcome})
		var errs []string
		for _, f := range told[*state.StateFinished](l) {
			errs = append(errs, f.Error)
		}
		same(t, "ends of states", []string{"", "max_ralph_iters_reached", "", ""}, errs)
	})
}

// TestTheFailureIsKeptForAStateWithItsOwnCommands: until that has a report itself.
func TestTheFailureIsKeptForAStateWithItsOwnCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{
			"A":    "---\ndone_when: [check]\nmax_attempts: 1\non_exhausted: HELP.md\n---\n<result>x</result>",
			"HELP": "---\ndone_when: [other]\n---\n[{{failure}}]\n<result>y</result>",
		}, nil)
		l.passes["HELP.md"] = 2
		l.drive(false, state.Completed)
		for i, want := range []string{"Command: check", "Command: other"} {
			if p := l.asked("HELP")[i].Prompt.Text; !strings.Contains(p, want) || strings.Count(p, "Command:") != 1 {
				t.Errorf("prompt of attempt %d: got %q, want one report, with %q", i+1, p, want)
			}
		}
	})
}

// TestAttemptContext: which conversation each attempt is part of, and the state
// after it. The session s1 is the entry session where there is one.
func TestAttemptContext(t *testing.T) {
	for _, tt := range []struct {
		context string
		entry   bool
		want    []string // three attempts, and the state after
	}{
		{"entry", true, []string{"branch s2 from s1", "branch s3 from s1", "branch s4 from s1", "resume s4"}},
		{"", true, []string{"branch s2 from s1", "branch s3 from s1", "branch s4 from s1", "resume s4"}},
		{"fresh", true, []string{"fresh s2", "fresh s3", "fresh s4", "resume s4"}},
		{"continue", true, []string{"branch s2 from s1", "resume s2", "resume s2", "resume s2"}},
		{"entry", false, []string{"fresh s1", "fresh s2", "fresh s3", "resume s3"}},
		{"fresh", false, []string{"fresh s1", "fresh s2", "fresh s3", "resume s3"}},
		{"continue", false, []string{"fresh s1", "resume s1", "resume s1", "resume s1"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			front := "---\ndone_when: [check]\n"
			if tt.context != "" {
				front += "attempt_context: " + tt.context + "\n"
			}
			f := flow{"TRY": front + "---\nwork\n<goto>B</goto>", "B": "<result>b</result>", "A": "<goto>TRY</goto>"}
			if !tt.entry {
				f = flow{"A": front + "---\nwork\n<goto>B</goto>", "B": "<result>b</result>"}
			}
			l := newLoop(t, f, nil)
			l.passes["TRY.md"], l.passes["A.md"] = 3, 3
			l.drive(false, state.Completed)
			if tt.entry {
				same(t, "entry", "fresh s1", conversation(l.order(0)))
				l.orders = l.orders[1:]
			}
			label := fmt.Sprintf("attempt_context %q, entry session: %v", tt.context, tt.entry)
			same(t, label, tt.want, conversations(l.orders))
			if p := l.order(1).Prompt.Text; strings.HasPrefix(p, "work\n") == (tt.context == "continue") || !strings.Contains(p, "tail of attempt 1") {
				t.Errorf("%s: prompt of attempt 2: got %q", label, p)
			}
		})
	}
}

// TestRemindersAndRetriesStayInTheAttemptsConversation, and leave the entry
// session alone.
func TestRemindersAndRetriesStayInTheAttemptsConversation(t *testing.T) {
	for context, want := range map[string][]string{
		"entry":    {"branch s2 from s1", "branch s3 from s1", "branch s4 from s1", "resume s4", "resume s4 cut to 2"},
		"continue": {"branch s2 from s1", "branch s3 from s1", "resume s3", "resume s3", "resume s3 cut to 2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{
				"A":   "<goto>TRY</goto>",
				"TRY": "---\ndone_when: [check]\nattempt_context: " + context + "\n---\nwork\n<result>x</result>",
			}, nil)
			l.says["TRY.md"] = []string{"transient!down", "no tag", "no tag", "transient!down", "<result>x</result>"}
			l.passes["TRY.md"] = 2
			l.drive(false, state.Completed)
			same(t, context+": a retry, attempt 2, a reminder, its retry", want, conversations(l.asked("TRY")))
		})
	}
}

func TestFeedback(t *testing.T) {
	for body, want := range map[string]string{
		"{{attempt}}/{{ max_attempts }} [{{failure}}] end":         "2/4 [REPORT] end",
		"{{attempt}} of {{attempt}}, {{who}}":                      "2 of 2, meta\n\nREPORT",
		"no template but {{input}}":                                "no template but payload\n\nREPORT",
		"{{failure}} and again {{failure}}, {{failures}}":          "REPORT and again REPORT, {{failures}}",
		"{ {failure}} {{ failure":                                  "{ {failure}} {{ failure\n\nREPORT",
		"/slash {{state}} {{agent_id}} {{workflow_id}} {{result}}": "\n/slash A.md main run-1 payload\n\nREPORT",
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "---\ndone_when: [check, \"printf '%s' {{who}}\"]\nmax_attempts: 4\n---\n" + body}, nil)
			l.says["A.md"], l.passes["A.md"] = []string{"<result>x</result>"}, 2
			l.drive(false, state.Completed)
			report := l.attempts()[0].Report(4)
			same(t, "prompt of attempt 2", strings.ReplaceAll(want, "REPORT", report), l.order(1).Prompt.Text)
			first := strings.ReplaceAll(strings.TrimSuffix(want, "\n\nREPORT"), "REPORT", "")
			first = strings.NewReplacer("2/4", "1/4", "2 of 2", "1 of 1").Replace(first)
			same(t, "prompt of attempt 1", first, l.order(0).Prompt.Text)
			for _, part := range []string{"Attempt 1 of 4", "Command: check\nExit code: 3\n", "Command: printf '%s' {{who}}\n", "```\ntail of attempt 1\n```"} {
				if !strings.Contains(report, part) {
					t.Errorf("report: got %q, want %q in it", report, part)
				}
			}
		})
	}
}

// TestContinueSendsTheReportAlone: the conversation has the prompt already.
func TestContinueSendsTheReportAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "---\ndone_when: [check]\nattempt_context: continue\n---\n{{failure}} work\n<result>x</result>"}, nil)
		l.passes["A.md"] = 3
		l.drive(false, state.Completed)
		for i, n := range l.attempts()[:2] {
			same(t, "prompt", n.Report(6), l.order(i+1).Prompt.Text)
		}
	})
}

// TestForkAttributesDoNotHideTheReport: the names of attempts win.
func TestForkAttributesDoNotHideTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{
			"A": `<fork next="B" failure="none" attempt="7" max_attempts="8">TRY</fork>`, "B": "<result>b</result>",
			"TRY": "---\ndone_when: [check]\n---\n{{attempt}} {{max_attempts}} {{failure}}\n<result>x</result>",
		}, nil)
		l.passes["TRY.md"] = 2
		l.drive(false, state.Completed)
		if p := l.asked("TRY")[1].Prompt.Text; !strings.HasPrefix(p, "2 6 Attempt 1 of 6") {
			t.Errorf("prompt of attempt 2: got %q, want it to begin with \"2 6 Attempt 1 of 6\"", p)
		}
	})
}

// TestOthersRunDuringTheBackoff also with a single slot.
func TestOthersRunDuringTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{
			"A":    `<fork next="SPIN">TRY</fork>`,
			"SPIN": `<goto>SPIN</goto>`,
			"TRY":  "---\ndone_when: [check]\nmax_attempts: 3\non_exhausted: suspend\nbackoff: {base: 10s, max: 20s}\n---\n<result>x</result>",
		}, nil)
		l.drive(false, state.Suspended)
		if n := len(l.asked("SPIN")); n < 30 {
			t.Errorf("invocations of the other agent in 30 s of back-off: got %d, want at least 30", n)
		}
		same(t, "attempts", 3, len(l.asked("TRY")))
	})
}

// TestBudgetIsCheckedAfterTheVerdict: the commands cost nothing, and so an
// attempt that was paid for gets its verdict.
func TestBudgetIsCheckedAfterTheVerdict(t *testing.T) {
	f := flow{"A": "---\ndone_when: [check]\n---\n{{attempt}}\n<goto>B</goto>", "B": "<result>b</result>"}
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, f, over(2))
		began := time.Now()
		l.drive(false, state.OverBudget)
		same(t, "outcome", "over_budget", l.end().Outcome)
		same(t, "agent runs, verdicts", []int{2, 2}, []int{len(l.orders), len(l.attempts())})
		same(t, "time: no back-off after the verdict", 2*(agentTime+commandTime)+2*time.Second, time.Since(began))
		l.over = new(l.run.Options)
		l.over.BudgetUSD, l.passes["A.md"] = state.Dollar, 3
		l.drive(true, state.Completed)
		same(t, "attempt after a resume with more", "3\n", l.order(2).Prompt.Text[:2])
		same(t, "back-off before it", 4*time.Second, l.began[2].Sub(l.verified[1]))
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, f, over(2))
		l.passes["A.md"] = 2
		l.drive(false, state.OverBudget)
		same(t, "position after a verdict that converged", "B.md", l.run.Agents[0].State)
		same(t, "flakes", 1, l.end().FlakeRetries)
		l.over = new(l.run.Options)
		l.over.BudgetUSD = state.Dollar
		l.drive(true, state.Completed)
		same(t, "agent runs, verifications", []int{2, 1, 2}, []int{len(l.asked("A")), len(l.asked("B")), len(l.checks)})
		same(t, "flakes", 1, l.end().FlakeRetries)
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, once(""), over(1))
		l.passes["A.md"] = 1
		l.drive(false, state.Completed)
		same(t, "a result that ends the run", "clean", l.end().Outcome)
	})
}

// TestAReminderOverTheBudgetIsNotSent: it is a start too, and the attempt goes on
// with it after a resume.
func TestAReminderOverTheBudgetIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, once(""), over(1))
		l.says["A.md"], l.passes["A.md"] = []string{"no tag", "<result>x</result>"}, 1
		l.drive(false, state.OverBudget)
		same(t, "agent runs, verifications", []int{1, 1}, []int{len(l.orders), len(l.checks)})
		l.over = new(l.run.Options)
		l.over.BudgetUSD = state.Dollar
		l.drive(true, state.Completed)
		same(t, "session of the reminder", "resume s1", conversation(l.order(1)))
		same(t, "outcome", "clean", l.end().Outcome)
	})
}

// TestALimitReachedByAnAttemptLeavesTheEntrySessionAlone: a state that asks for
// too many agents is tried again from where it began.
func TestALimitReachedByAnAttemptLeavesTheEntrySessionAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{
			"A":   "<goto>TRY</goto>",
			"TRY": "---\ndone_when: [check]\n---\n<fork next=\"B\">B</fork>", "B": "<result>b</result>",
		}, func(o *state.Options) { o.MaxAgents = 1 })
		l.passes["TRY.md"] = 1
		l.drive(false, state.Failed)
		l.over = new(l.run.Options)
		l.over.MaxAgents = 2
		l.drive(true, state.Completed)
		same(t, "conversations", []string{"branch s2 from s1", "branch s3 from s1"}, conversations(l.asked("TRY")))
	})
}

// TestOutcomes holds the names of ends, and which comes first.
func TestOutcomes(t *testing.T) {
	bad := "---\ndone_when: [check]\nmax_attempts: 2\nbackoff: none\n---\n<result>x</result>"
	suspends := strings.Replace(bad, "backoff", "on_exhausted: suspend\nbackoff", 1)
	one := flow{"A": `<fork next="TRY">C</fork>`, "TRY": bad, "C": "<result>c</result>"}
	two := flow{"A": `<fork next="TRY">BAD</fork>`, "TRY": suspends, "BAD": "fatal!no"}
	together := func(o *state.Options) { o.MaxParallel, o.KeepGoing = 2, true }
	for _, tt := range []struct {
		name            string
		flow            flow
		change          func(*state.Options)
		passes          map[string]int
		outcome, detail string
	}{
		{"no flake", once(""), nil, map[string]int{"A.md": 1}, "clean", ""},
		{"flake", once(""), nil, map[string]int{"A.md": 2}, "clean_with_flake", ""},
		{"none ended", once("max_attempts: 2\n"), nil, nil, "failed", "catastrophic"},
		{"one ended", one, together, nil, "failed", "partial"},
		{"one ended, one flaked", one, nil, map[string]int{"TRY.md": 2}, "clean_with_flake", ""},
		{"budget", once(""), over(1), nil, "over_budget", ""},
		{"iterations", flow{"A": strings.Replace(bad, "<result>x</result>", "<goto>A</goto>", 1)},
			func(o *state.Options) { o.MaxIterations = 2 }, map[string]int{"A.md": 2}, "over_iterations", ""},
		{"suspended", once("max_attempts: 1\non_exhausted: suspend\n"), nil, nil, "suspended", ""},
		{"suspended before failed", two, together, nil, "suspended", ""},
		{"budget before suspended", once("max_attempts: 1\non_exhausted: suspend\n"), over(1), nil, "over_budget", ""},
		{"budget before failed", two, func(o *state.Options) { together(o); over(3)(o) }, nil, "over_budget", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, tt.flow, tt.change)
			maps.Copy(l.passes, tt.passes)
			if err := runner.New(l.cfg, l.run).Run(t.Context(), false, nil); err != nil {
				t.Fatal(err)
			}
			same(t, tt.name, []string{tt.outcome, tt.detail}, []string{l.end().Outcome, l.end().Detail})
		})
	}
}

// TestACancelledLoop is cancelled whatever else holds.
func TestACancelledLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, once(""), nil)
		l.cfg.LogDir = filepath.Clean("/logs")
		go func() {
			time.Sleep(agentTime + commandTime + time.Second) // in the first back-off
			l.stop <- "SIGINT"
		}()
		l.drive(false, state.Cancelled)
		same(t, "outcome", "cancelled", l.end().Outcome)
		l.passes["A.md"] = 2
		l.drive(true, state.Completed)
		same(t, "the back-off goes on", secondsOf(2), l.waits())
	})
}
