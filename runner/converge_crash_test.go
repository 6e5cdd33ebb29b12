package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// saveWhere returns the number, from 1, of the first save of an undisturbed run
// that ok is true for.
func saveWhere(t *testing.T, l func() *loop, ok func(*state.Run) bool) int {
	t.Helper()
	found := 0
	synctest.Test(t, func(t *testing.T) {
		w := l()
		w.t, w.log.t = t, t
		w.drive(false, state.Completed)
		for i, data := range w.store.saves {
			if found == 0 && ok(decoded(t, data)) {
				found = i + 1
			}
		}
	})
	if found == 0 {
		t.Fatal("no save of the undisturbed run is the one to crash after")
	}
	return found
}

// exec is the execution of the first agent of a run that stands in a state.
func exec(r *state.Run, name string) *state.Exec {
	if len(r.Agents) == 0 || r.Agents[0].State != name+".md" || r.Agents[0].Exec == nil {
		return new(state.Exec)
	}
	return r.Agents[0].Exec
}

// fifth is a workflow whose second state converges in its fifth attempt.
func fifth(t *testing.T) *loop {
	l := newLoop(t, flow{
		"A":   "<goto>TRY</goto>",
		"TRY": "---\ndone_when: [check]\nprotect: ['*']\n---\ntry {{attempt}}\n<fork next=\"B\">C</fork>", "B": "<result>b</result>", "C": "<result>c</result>",
	}, nil)
	l.passes["TRY.md"] = 5
	return l
}

// tries are the attempts that agents were run for, as their prompts name them.
func (l *loop) tries() []string {
	var out []string
	for _, o := range l.asked("TRY") {
		out = append(out, strings.TrimPrefix(o.Prompt.Text[:len("try 1")], "try "))
	}
	return out
}

// TestCrashInTheAgentsPhase: the attempt runs again with its number, at once, from
// the entry session, and the interrupted run is no flake.
func TestCrashInTheAgentsPhase(t *testing.T) {
	n := saveWhere(t, func() *loop { return fifth(t) }, func(r *state.Run) bool {
		e := exec(r, "TRY")
		return e.Attempt == 4 && e.Phase == state.PhaseAgent && e.Running != nil
	})
	synctest.Test(t, func(t *testing.T) {
		l := fifth(t)
		l.crash(n)
		resumed := time.Now()
		l.drive(true, state.Completed)
		if same(t, "agent runs", []string{"1", "2", "3", "4", "4", "5"}, l.tries()); t.Failed() {
			t.FailNow()
		}
		same(t, "verdicts", []int{1, 2, 3, 4, 5}, l.numbers())
		same(t, "flakes", 1, l.end().FlakeRetries)
		again := l.asked("TRY")[4]
		same(t, "wait before the re-run", time.Duration(0), l.began[5].Sub(resumed))
		same(t, "session of the re-run", "branch s6 from s1", conversation(again))
		for _, part := range []string{"tail of attempt 3", "interrupted"} {
			if !strings.Contains(again.Prompt.Text, part) {
				t.Errorf("prompt of the re-run: got %q, want %q in it", again.Prompt.Text, part)
			}
		}
		if p := l.asked("TRY")[5].Prompt.Text; strings.Contains(p, "interrupted") {
			t.Errorf("prompt of attempt 5: got %q, want nothing of the interruption of attempt 4", p)
		}
		cut := told[*state.AttemptInterrupted](l)
		same(t, "attempt_interrupted", []int{1, 4}, []int{len(cut), cut[0].Attempt})
		same(t, "digests, taken on entry only", 1, len(l.digests))
	})
}

// TestCrashInTheVerifyPhase: only the commands run again, as TestCrashAnywhere holds, with
// the files as they were on entry, and the agent hears of no interruption.
func TestCrashInTheVerifyPhase(t *testing.T) {
	n := saveWhere(t, func() *loop { return fifth(t) }, func(r *state.Run) bool {
		e := exec(r, "TRY")
		return e.Attempt == 4 && e.Phase == state.PhaseVerify && e.Running != nil
	})
	synctest.Test(t, func(t *testing.T) {
		l := fifth(t)
		l.crash(n)
		l.drive(true, state.Completed)
		same(t, "protected files of the second verification", map[string]string{"a_test.go": "digest 1"}, l.checks[4].Protected)
		if p := l.asked("TRY")[4].Prompt.Text; strings.Contains(p, "interrupted") {
			t.Errorf("prompt of attempt 5: got %q, want nothing of an interruption: no agent was interrupted", p)
		}
	})
}

// TestCrashInTheBackoff: only what is left of it is waited, whatever became of
// the clock, and never more than the whole. It is the one of 16 s before attempt 5.
func TestCrashInTheBackoff(t *testing.T) {
	var snapshot []byte
	synctest.Test(t, func(t *testing.T) {
		l := fifth(t)
		l.drive(false, state.Completed)
		for _, data := range l.store.saves {
			if e := exec(decoded(t, data), "TRY"); e.Attempt == 5 && e.Running == nil && snapshot == nil {
				snapshot = data
			}
		}
	})
	until := decoded(t, snapshot).Agents[0].NotBefore
	for _, c := range []struct {
		before, want time.Duration // resumed so long before the end of the back-off
	}{
		{16 * time.Second, 16 * time.Second},
		{9 * time.Second, 9 * time.Second},
		{time.Millisecond, time.Millisecond},
		{0, 0},
		{-time.Second, 0},
		{-24 * time.Hour, 0},
		{17 * time.Second, 16 * time.Second},
		{24 * time.Hour, 16 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := fifth(t)
			dir := l.run.Dir
			l.restore(snapshot)
			l.run.Dir = dir
			l.skew = time.Until(until.Add(-c.before))
			resumed := time.Now()
			l.drive(true, state.Completed)
			same(t, fmt.Sprintf("wait when resumed %v before the end", c.before), c.want, l.began[0].Sub(resumed))
			same(t, "agent runs after it", []string{"5"}, l.tries())
			same(t, "back-off in the event", 16.0, *l.attempts()[0].BackoffS)
		})
	}
}

// busyLoops is a workflow with all that can happen in a loop: an entry session,
// reminders, retries, a fork and a state to go to when attempts are used up.
func busyLoops(t *testing.T) *loop {
	l := newLoop(t, flow{
		"A":    "<goto>TRY</goto>",
		"TRY":  "---\ndone_when: [check]\n---\ntry {{attempt}}\n<fork next=\"B\">C</fork>",
		"B":    "---\ndone_when: [check]\nattempt_context: continue\n---\n<goto>HARD</goto>",
		"C":    "---\ndone_when: [check]\nattempt_context: fresh\n---\n<result>c</result>",
		"HARD": "---\ndone_when: [check]\nmax_attempts: 2\non_exhausted: HELP\n---\n<result>x</result>", "HELP": "<result>help</result>",
	}, func(o *state.Options) { o.MaxParallel = 2 })
	l.passes = map[string]int{"TRY.md": 3, "B.md": 2, "C.md": 1}
	return l
}

// deeds are what each agent did, without what only a crash puts into a log.
func deeds(l *loop) map[string][]string {
	byAgent := map[string][]string{}
	for _, n := range undisturbed(l.log.names()) {
		agent, what, _ := strings.Cut(n, " ")
		if what != "" {
			byAgent[agent] = append(byAgent[agent], what)
		}
	}
	return byAgent
}

// undisturbed drops what only a crash puts into a log.
func undisturbed(names []string) []string {
	var out []string
	for i, n := range names {
		cut := strings.HasSuffix(n, "attempt_interrupted")
		again := i > 0 && strings.Contains(n, " start ") && slices.Contains(out, n) && started(names[:i], n)
		if !cut && !again && (n != "run_started" || i == 0) {
			out = append(out, n)
		}
	}
	return out
}

// started reports whether an execution of the same agent and state is under way
// at the end of names.
func started(names []string, start string) bool {
	who, _, _ := strings.Cut(start, " start ")
	open := false
	for _, n := range names {
		open = (open || strings.HasPrefix(n, who+" start ")) && !strings.HasPrefix(n, who+" finish")
	}
	return open
}

// TestCrashAnywhere cuts a run off after every save, resumes it from what was saved, and
// wants what the undisturbed run did, with no agent run and no verification too many.
func TestCrashAnywhere(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *loop{
		"attempts": busyLoops, "forks and calls": func(t *testing.T) *loop { return newWorld(t, "START", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var whole *loop
			synctest.Test(t, func(t *testing.T) {
				whole = start(t)
				whole.drive(false, state.Completed)
			})
			for n := 1; n < len(whole.store.saves); n++ {
				synctest.Test(t, func(t *testing.T) { crashAfter(t, start(t), n, whole) })
			}
		})
	}
}

// crashAfter lets the save after the n-th fail, and resumes from the n-th.
func crashAfter(t *testing.T, l *loop, n int, whole *loop) {
	if !l.crashes(n) {
		return
	}
	wantRuns, wantChecks := len(whole.orders), len(whole.checks)
	for _, a := range l.run.Agents {
		if a.Status == state.Busy && a.Exec.Phase == state.PhaseVerify {
			wantChecks++
		} else if a.Status == state.Busy {
			wantRuns++
		}
	}
	l.drive(true, state.Completed)
	label := fmt.Sprintf("crash after save %d", n)
	same(t, label+": deeds", deeds(whole), deeds(l))
	same(t, label+": agent runs, verifications", []int{wantRuns, wantChecks}, []int{len(l.orders), len(l.checks)})
	same(t, label+": flakes, ended agents", []any{whole.end().FlakeRetries, ended(whole.run)}, []any{l.end().FlakeRetries, ended(l.run)})
	same(t, label+": cost", state.USD(wantExact(l))*state.Dollar/10, l.run.Progress.TotalUSD)
	for k, e := range l.log.events {
		if e.Seq != k+1 {
			t.Fatalf("%s: event %d of the log has seq %d", label, k+1, e.Seq)
		}
	}
}

// wantExact counts the processes that told what they cost.
func wantExact(l *loop) int {
	return len(slices.DeleteFunc(slices.Clone(l.run.Ledger), func(e state.Entry) bool { return e.Kind != state.Exact || e.CostUSD == 0 }))
}

// TestStoppedVerificationsRunAgain: a run that is cancelled, or comes to its
// deadline, in the verify phase has no verdict, and its resume starts no agent.
func TestStoppedVerificationsRunAgain(t *testing.T) {
	for name, stop := range map[string]func(*loop) state.Status{
		"two signals": func(l *loop) state.Status {
			go func() {
				time.Sleep(agentTime + commandTime/2)
				l.stop <- "SIGINT"
				l.stop <- "SIGINT"
			}()
			return state.Cancelled
		},
		"deadline without grace": func(l *loop) state.Status {
			l.cfg.Deadline, l.run.Options.Grace = agentTime+commandTime/2, 0
			return state.Suspended
		},
		"deadline in the agent's phase": func(l *loop) state.Status {
			l.cfg.Deadline = agentTime / 2
			return state.Suspended
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, once(""), nil)
			l.passes["A.md"] = 1
			l.drive(false, stop(l))
			same(t, name+": verdicts", 0, len(l.attempts()))
			l.cfg.Deadline = 0
			l.drive(true, state.Completed)
			same(t, name+": agent runs, verdicts", []int{1, 1}, []int{len(l.orders), len(l.attempts())})
			same(t, name+": outcome", "clean", l.end().Outcome)
		})
	}
}
