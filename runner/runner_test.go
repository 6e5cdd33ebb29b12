package runner_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// replies contains, by state, the agents' answers to the prompt of the state, in the order of the
// invocations. The last answer repeats.
var replies = map[string][]string{
	"START": {`<fork next="NEXT" item="1">WORK</fork>`},
	"NEXT":  {`<fork next="JOIN" item="2">WORK</fork>`},
	"WORK":  {`nothing`, `<call return="END">SUB</call>`},
	"SUB":   {`transient!overloaded`, `<function return="BACK">PURE</function>`},
	"PURE":  {`<result>pure</result>`},
	"BACK":  {`<reset>DEEP</reset>`},
	"DEEP":  {`<result>sub</result>`},
	"JOIN":  {`<goto>END</goto>`},
	"END":   {`<result>done</result>`},
	"DOWN":  {`transient!overloaded`},
	"BAD":   {`fatal!no such model`},
	"MUTE":  {`I have nothing to say`},
	"LIMIT": {`usage_limit!you have hit your limit`},
	"CAP":   {`over_budget!reached maximum budget`, `<result>capped</result>`},
	"LOOP":  {`<goto>LOOP</goto>`},
	"PAIR":  {`<fork next="LOOP">DOWN</fork>`},
	"HALF":  {`<fork next="END">BAD</fork>`},
}

// newWorld returns a run of a workflow that contains all states of replies.
func newWorld(t *testing.T, entry string, change func(*state.Options)) *loop {
	t.Helper()
	f := flow{}
	for name, lines := range replies {
		f[name] = "prompt of " + name + "\n" + strings.Join(lines, "\n")
	}
	l := newLoopAt(t, entry+".md", f, change)
	for name, lines := range replies {
		l.answers[name+".md"] = lines
	}
	return l
}

// TestCancel checks that the first signal saves a snapshot and gives running states three seconds,
// and that a second signal ends them. In both cases the agent stays in its state, and a resume runs
// that state again.
func TestCancel(t *testing.T) {
	for signals, want := range map[int]time.Duration{1: 5 * time.Second, 2: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l := newWorld(t, "END", nil)
			l.slow = time.Hour
			begin := time.Now()
			go func() {
				for range signals {
					time.Sleep(2 * time.Second / time.Duration(signals))
					l.stop <- "SIGINT"
				}
			}()
			l.drive(false, state.Cancelled)
			same(t, "time until the end", want, time.Since(begin))
			var saved []time.Duration
			for _, at := range l.store.snapshots {
				saved = append(saved, at.Sub(begin))
			}
			signal := 2 * time.Second / time.Duration(signals)
			same(t, "saved as a whole: at the beginning, at the signal, at the end", []time.Duration{0, signal, want}, saved)
			same(t, "notes", []string{"SIGINT: running states have 3s to end; a second SIGINT ends them at once"}, l.log.notes)
			a := l.run.Agents[0]
			same(t, "status, retries", []any{state.Busy, 0}, []any{a.Status, a.Exec.Retries})
			l.slow = time.Second
			l.drive(true, state.Completed)
			if p := l.order(1).Prompt.Text; !strings.HasPrefix(p, "prompt of END") || !strings.Contains(p, "interrupted") {
				t.Errorf("prompt of the re-run = %q", p)
			}
		})
	}
}

// TestDeadline checks that a run is suspended at its deadline, when the running state has ended in
// its grace period.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "LOOP", nil)
		l.slow, l.cfg.Deadline = 20*time.Second, time.Minute+time.Second
		l.drive(false, state.Suspended)
		same(t, "deadline events", 1, len(eventsOf[*state.Limit](l)))
		same(t, "executions, of which the last finished in the grace", []any{4, state.Ready},
			[]any{l.run.Progress.Iterations, l.run.Agents[0].Status})
		session := l.run.Agents[0].Session
		same(t, "length of the transcript at its end", int64(len(session.ID)), *session.End)
	})
}
