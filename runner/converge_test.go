package runner_test

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/state"
)

// TestWhatIsVerified holds what the commands are run with, also after a crash.
func TestWhatIsVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{
			"A": "---\ndone_when: one command\ndone_when_timeout: 90s\nprotect: ['**/*_test.go']\nbackoff: {base: 3s}\n---\n<reset cd=\"..\">B</reset>",
			"B": "---\ndone_when: [two]\n---\n<result>x</result>",
		}, nil)
		l.passes["A.md"], l.passes["B.md"], l.exits = 2, 1, 1
		l.crash(5) // the second verification has begun
		l.drive(true, state.Completed)
		assert.Equal(t, len(l.checks), 4, "verifications")
		first, again, other := l.checks[0], l.checks[2], l.checks[3]
		same(t, "commands", []string{"one command"}, first.Commands)
		same(t, "timeouts", []time.Duration{90 * time.Second, 10 * time.Minute}, []time.Duration{first.Timeout, other.Timeout})
		same(t, "directories", []string{l.run.Dir, filepath.Dir(l.run.Dir)}, []string{first.Dir, other.Dir})
		same(t, "logs", []string{filepath.FromSlash("/logs/main/A.md.log"), filepath.FromSlash("/logs/main/B.md.log")}, []string{first.LogFile, other.LogFile})
		same(t, "numbers", []int{1, 2, 1}, []int{first.Attempt, again.Attempt, other.Attempt})
		same(t, "variables", []string{"RAYMOND_WORKFLOW_ID=run-1", "RAYMOND_AGENT_ID=main", "RAYMOND_STATE=A.md"}, first.Env)
		same(t, "exit code of the agent CLI, only logged", 1, first.AgentCode)
		same(t, "protected files are looked at once, on entry", []string{l.run.Dir + " **/*_test.go"}, l.digests)
		want := map[string]string{"a_test.go": "digest 1"}
		same(t, "protected files of both attempts", []map[string]string{want, want}, []map[string]string{first.Protected, again.Protected})
		same(t, "wait before the second attempt", 3*time.Second, l.began[1].Sub(l.verified[0]))
		marks := map[string]bool{}
		for _, m := range []string{first.Mark, l.checks[1].Mark, again.Mark, other.Mark, l.order(0).Mark, l.order(1).Mark} {
			marks[m] = true
		}
		same(t, "marks that differ", 6, len(marks))
	})
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

// TestCrashAnywhere cuts a run off after every save, resumes it from what was saved, and
// wants what the undisturbed run did, with no agent run and no verification too many.
func TestCrashAnywhere(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *loop{
		"attempts": busyLoops, "forks and calls": func(t *testing.T) *loop { return newWorld(t, "START", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var whole *loop
			killedAnywhere(t, start, toTheEnd, func(l *loop, cut *state.Run) {
				if cut == nil {
					whole = l
				}
				wantAsWhole(t, whole, l, cut)
			})
		})
	}
}

// wantAsWhole compares a run that was cut off with one that wasn't.
func wantAsWhole(t *testing.T, whole, l *loop, cut *state.Run) {
	wantRuns, wantChecks := len(whole.orders), len(whole.checks)
	for _, a := range (cmp.Or(cut, &state.Run{})).Agents {
		if a.Status == state.Busy && a.Exec.Phase == state.PhaseVerify {
			wantChecks++
		} else if a.Status == state.Busy {
			wantRuns++
		}
	}
	same(t, "agent runs, verifications", []int{wantRuns, wantChecks}, []int{len(l.orders), len(l.checks)})
	same(t, "flakes, ended agents", []any{whole.end().FlakeRetries, ended(whole.run)}, []any{l.end().FlakeRetries, ended(l.run)})
	same(t, "cost", state.USD(wantExact(l))*state.Dollar/10, l.run.Progress.TotalUSD)
}

// wantExact counts the processes that told what they cost.
func wantExact(l *loop) int {
	return len(slices.DeleteFunc(slices.Clone(l.run.Ledger), func(e state.Entry) bool { return e.Kind != state.Exact || e.CostUSD == 0 }))
}

// TestWithoutAShellNoAttemptIsPaid: a machine that can run no command fails before the agent.
func TestWithoutAShellNoAttemptIsPaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "---\ndone_when: [check]\n---\n<result>done</result>"}, nil)
		l.noShell = errors.New("there is no bash")
		l.drive(false, state.Failed)
		f := l.run.Agents[0].Failure
		same(t, "class, message", []string{"runtime", "done_when: there is no bash"}, []string{f.Class, f.Message})
		same(t, "agent runs", 0, len(l.orders))
	})
}
