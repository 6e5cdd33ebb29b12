package runner_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// replies has what agents say in each state, one for each invocation of the state by
// an agent; the last repeats.
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

// newWorld returns a run of a workflow of all these states.
func newWorld(t *testing.T, entry string, change func(*state.Options)) *loop {
	t.Helper()
	f := flow{}
	for name, lines := range replies {
		f[name] = "prompt of " + name + "\n" + strings.Join(lines, "\n")
	}
	l := newLoopAt(t, entry+".md", f, change)
	for name, lines := range replies {
		l.says[name+".md"] = lines
	}
	return l
}

func TestForksCallsAndFaults(t *testing.T) {
	for _, parallel := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			l := newWorld(t, "START", func(o *state.Options) { o.MaxParallel = parallel })
			l.drive(false, state.Completed)
			same(t, "ended agents", []string{"main=done", "main_work1=done", "main_work2=done"}, ended(l.run))
			same(t, "cost", state.USD(len(l.orders))*state.Dollar/10, l.run.Progress.TotalUSD)
		})
	}
}

func TestRetriesWaitAndOthersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "PAIR", func(o *state.Options) { o.MaxIterations, o.MaxRetries = 12, 3 })
		l.drive(false, state.Failed)
		var waits []int64
		for _, r := range told[*state.Retry](l) {
			waits = append(waits, r.BackoffMS)
		}
		same(t, "waits", []int64{1000, 2000, 4000}, waits)
		same(t, "invocations", 4, l.calls["main_down1 DOWN.md"])
		if n := l.calls["main LOOP.md"]; n < 7 {
			t.Errorf("LOOP ran %d times during 7 s of back-off, want at least 7", n)
		}
	})
}

func TestHowRunsEnd(t *testing.T) {
	for _, tt := range []struct {
		entry  string
		change func(*state.Options)
		status state.Status
		calls  int
	}{
		{"DOWN", nil, state.Failed, 3},
		{"BAD", nil, state.Failed, 1},
		{"MUTE", nil, state.Failed, 3},
		{"LIMIT", nil, state.Suspended, 1},
		{"LOOP", func(o *state.Options) { o.MaxIterations = 5 }, state.OverIterations, 5},
		{"END", func(o *state.Options) { o.MaxIterations = 1 }, state.Completed, 1},
		{"LOOP", over(3), state.OverBudget, 3},
		{"MUTE", over(1), state.OverBudget, 1},
		{"END", over(1), state.Completed, 1},
		{"START", func(o *state.Options) { o.MaxAgents = 2 }, state.Failed, 4},
		{"HALF", nil, state.Failed, 2},
		{"HALF", func(o *state.Options) { o.KeepGoing = true }, state.Failed, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newWorld(t, tt.entry, tt.change)
			l.drive(false, tt.status)
			same(t, tt.entry+": invocations", tt.calls, len(l.orders))
		})
	}
}

func TestUnknownCostsFailAnAgentWithABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "LOOP", nil)
		l.lost = true
		l.drive(false, state.Failed)
		same(t, "invocations", 3, len(l.orders))
	})
}

func TestACappedSessionGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "CAP", nil)
		l.drive(false, state.OverBudget)
		l.drive(true, state.Completed)
		same(t, "conversations", []string{"fresh s1", "resume s1"}, conversations(l.orders))
		if p := l.order(1).Prompt.Text; strings.Contains(p, "prompt of") {
			t.Errorf("second prompt = %q, want no repetition of the first", p)
		}
	})
}

// TestCancel: after one signal states in flight get three seconds, after two
// none; either way the agent stays where it is and a resume runs it again.
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

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "LOOP", nil)
		l.slow, l.cfg.Deadline = 20*time.Second, time.Minute+time.Second
		l.drive(false, state.Suspended)
		same(t, "limits told", 1, len(told[*state.Limit](l)))
		same(t, "executions, of which the last finished in the grace", []any{4, state.Ready},
			[]any{l.run.Progress.Iterations, l.run.Agents[0].Status})
	})
}

// TestSavesAreStable: the same run saves the same bytes, so that digests of
// checkpoints mean something.
func TestSavesAreStable(t *testing.T) {
	var all [2][][]byte
	for i := range all {
		synctest.Test(t, func(t *testing.T) {
			l := newWorld(t, "START", nil)
			l.run.Dir = "/"
			l.drive(false, state.Completed)
			all[i] = l.store.saves
		})
	}
	if !slices.EqualFunc(all[0], all[1], bytes.Equal) {
		t.Error(cmp.Diff(all[0], all[1]))
	}
}
