package runner_test

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/state"
)

// TestChecks checks the orders for verifications, including one after a crash.
func TestChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{
			"A": "---\ndone_when: one command\ndone_when_timeout: 90s\nprotect: ['**/*_test.go']\nbackoff: {base: 3s}\n---\n<reset cd=\"..\">B</reset>",
			"B": "---\ndone_when: [two]\n---\n<result>x</result>",
		}, nil)
		l.passes["A.md"], l.passes["B.md"], l.exits = 2, 1, 1
		l.crash(5) // when the second verification has begun
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
		same(t, "protected files are saved once, on entry", []string{l.run.Dir + " **/*_test.go"}, l.digests)
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

// TestCrashAnywhere stops a run after every save, resumes it from that save, and compares it with a
// run that was not stopped. The numbers of invocations and verifications must be the same, except
// for those that were cut off. The models must get the same messages, except for the note about the
// interruption. No prompt may appear twice in a conversation.
func TestCrashAnywhere(t *testing.T) {
	for name, c := range map[string]struct {
		start  func(*testing.T) *loop
		finish func(l *loop, resumed bool)
	}{
		"two agent CLIs": {mixed, toTheEnd}, "waits": {newWaiters, finishWaiters},
		"forks and calls": {func(t *testing.T) *loop { return newWorld(t, "START", nil).vendors() }, toTheEnd},
	} {
		t.Run(name, func(t *testing.T) {
			var whole *loop
			crashAfterEachSave(t, c.start, c.finish, func(l *loop, cut *state.Run) {
				if cut == nil {
					whole = l
				}
				wantSameAs(t, whole, l, cut)
			})
		})
	}
}

// waitsEndedBy returns what ended the waits of a run, sorted.
func (l *loop) waitsEndedBy() []string {
	var by []string
	for _, b := range eventsOf[*state.AgentGoesOn](l) {
		by = append(by, b.By)
	}
	slices.Sort(by)
	return by
}

// completeTalks returns the conversations of invocations that ended, without notes about
// interruptions.
func (l *loop) completeTalks() []string {
	const note = "\n\nNote: an earlier try of this step was interrupted and may have left half-done work; check before repeating it."
	var texts []string
	for _, text := range l.disk.complete {
		texts = append(texts, strings.ReplaceAll(text, note, ""))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// wantSameAs compares l, a run that was cut off and resumed, with whole, which was not cut off.
func wantSameAs(t *testing.T, whole, l *loop, cut *state.Run) {
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
	isFree := func(e state.LedgerEntry) bool { return e.Kind != state.Exact || e.CostUSD == 0 }
	same(t, "cost", state.USD(len(slices.DeleteFunc(slices.Clone(l.run.Ledger), isFree)))*state.Dollar/10, l.run.Progress.TotalUSD)
	same(t, "waits ended by", whole.waitsEndedBy(), l.waitsEndedBy())
	same(t, "messages to the models", whole.completeTalks(), l.completeTalks())
}

// TestMissingShellFailsBeforeAgent checks that, on a machine that can't run commands, a state with
// done_when fails before an agent is invoked, which would cost money.
func TestMissingShellFailsBeforeAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "---\ndone_when: [check]\n---\n<result>done</result>"}, nil)
		l.noShell = errors.New("there is no bash")
		l.drive(false, state.Failed)
		f := l.run.Agents[0].Failure
		same(t, "class, message", []string{"runtime", "done_when: there is no bash"}, []string{f.Class, f.Message})
		same(t, "agent runs", 0, len(l.orders))
	})
}
