package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// memory is a store that remembers the run after every save, encoded.
type memory struct {
	run   *state.Run
	saves [][]byte
	fail  int // the save that fails, counted from 1; 0 for none
}

var errDisk = errors.New("disk full")

func (m *memory) Append(d *state.Delta) error { return m.Fold(m.run.With(d)) }
func (m *memory) Full() bool                  { return false }
func (m *memory) Fold(r *state.Run) error {
	if m.fail == len(m.saves)+1 {
		return errDisk
	}
	data, err := r.Encode()
	m.saves = append(m.saves, data)
	m.run, _ = state.Decode(data)
	return err
}

// journal collects events; it checks that nothing is told before it is saved.
type journal struct {
	t      *testing.T
	store  *memory
	events []state.Event
	doing  []runner.Progress
}

func (j *journal) Tick(time.Time)                       {}
func (j *journal) Note(string, string, string)          {}
func (j *journal) Doing(_, _ string, p runner.Progress) { j.doing = append(j.doing, p) }
func (j *journal) Report(e state.Event) {
	_, said := e.Body.(*state.AgentOutput)
	_, stored := e.Body.(*state.Checkpoint)
	if !said && !stored && e.Seq > j.store.run.Progress.Events {
		j.t.Errorf("event %d (%s) was told before it was saved", e.Seq, e.Body.Type())
	}
	j.events = append(j.events, e)
}

// names are the events as short words.
func (j *journal) names() []string {
	var out []string
	for _, e := range j.events {
		name := e.Body.Type()
		switch b := e.Body.(type) {
		case *state.StateStarted:
			name = "start " + string(b.Session)
		case *state.StateFinished:
			name = fmt.Sprintf("finish %t", b.OK)
		case *state.Transition:
			name = b.Tag + " " + b.Target
		case *state.RunFinished:
			name = string(b.Status)
		case *state.Retry:
			name = fmt.Sprintf("retry %dms", b.BackoffMS)
		}
		out = append(out, strings.TrimSpace(e.Agent+" "+strings.TrimSuffix(e.State, ".md")+" "+name))
	}
	return out
}

// actor answers invocations: the state's text holds lines "N: reply", one for
// each invocation of the state by an agent; the last repeats.
type actor struct {
	mu     sync.Mutex // guards orders and calls
	slow   time.Duration
	orders []runner.Order
	calls  map[string]int
	lost   bool                                    // report no cost
	babble func(tell func(runner.Progress), n int) // before the n-th answer in a state, from 0
}

func (a *actor) Length(session, _ string) (int64, bool)            { return int64(len(session)), true }
func (a *actor) Usage(string, string, int64) ([]state.Usage, bool) { return nil, false }

func (a *actor) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	key := o.Agent + " " + o.State
	a.mu.Lock()
	a.orders = append(a.orders, o)
	n := a.calls[key]
	a.calls[key]++
	a.mu.Unlock()
	switch {
	case a.babble != nil:
		a.babble(tell, n)
	case o.Telling != runner.TellNothing:
		tell(runner.Progress{Text: "working"})
	}
	wait := time.NewTimer(a.slow)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return runner.Answer{}, &runner.Failure{Class: runner.Stopped, Message: context.Cause(ctx).Error()}
	}
	return a.reply(o, replies[o.State], n)
}

func (a *actor) reply(o runner.Order, lines []string, n int) (runner.Answer, error) {
	text := lines[min(n, len(lines)-1)]
	ans := runner.Answer{SessionID: o.Prompt.SessionID, Model: "m", Turns: 1}
	if !a.lost {
		ans.Cost = state.Cost{Kind: state.Exact, USD: state.Dollar / 10}
	}
	if class, message, bad := strings.Cut(text, "!"); bad {
		return ans, &runner.Failure{Class: runner.Class(class), Message: message}
	}
	ans.Text = text
	return ans, nil
}

// replies has what agents say in each state.
var replies = map[string][]string{
	"START.md": {`<fork next="NEXT" item="1">WORK</fork>`},
	"NEXT.md":  {`<fork next="JOIN" item="2">WORK</fork>`},
	"WORK.md":  {`nothing`, `<call return="END">SUB</call>`},
	"SUB.md":   {`transient!overloaded`, `<function return="BACK">PURE</function>`},
	"PURE.md":  {`<result>pure</result>`},
	"BACK.md":  {`<reset>DEEP</reset>`},
	"DEEP.md":  {`<result>sub</result>`},
	"JOIN.md":  {`<goto>END</goto>`},
	"END.md":   {`<result>done</result>`},
	"DOWN.md":  {`transient!overloaded`},
	"BAD.md":   {`fatal!no such model`},
	"MUTE.md":  {`I have nothing to say`},
	"LIMIT.md": {`usage_limit!you have hit your limit`},
	"CAP.md":   {`over_budget!reached maximum budget`, `<result>capped</result>`},
	"LOOP.md":  {`<goto>LOOP</goto>`},
	"PAIR.md":  {`<fork next="LOOP">DOWN</fork>`},
	"HALF.md":  {`<fork next="END">BAD</fork>`},
}

type world struct {
	t     *testing.T
	actor *actor
	store *memory
	log   *journal
	stop  chan string
	ids   int
	cfg   runner.Config
	run   *state.Run
}

func newWorld(t *testing.T, entry string, change func(*state.Options)) *world {
	t.Helper()
	files := fstest.MapFS{}
	for name, lines := range replies {
		text := "---\nmodel: m\n---\nprompt of " + name + "\n" + strings.Join(lines, "\n")
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	w, problems := protocol.Load(files, protocol.LoadOptions{Entry: entry, Platform: protocol.Unix})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	opt := state.Options{
		BudgetUSD: 10 * state.Dollar, MaxParallel: 1, MaxAgents: 10, MaxDepth: 8, MaxRetries: 3, MaxReminders: 3,
		Grace: state.Duration(30 * time.Second), PermissionMode: "acceptEdits",
	}
	if change != nil {
		change(&opt)
	}
	run := state.New(state.Run{
		WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: "/scope", Entry: entry, Dir: t.TempDir(),
		Files: w.Hashes(), Options: opt,
	}, "", time.Now())
	wd := &world{t: t, run: run, actor: &actor{slow: 1300 * time.Millisecond, calls: map[string]int{}}, stop: make(chan string)}
	wd.cfg = runner.Config{Workflow: w, Clock: runner.RealClock(), Sessions: wd.actor, Cancel: wd.stop}
	wd.fresh()
	return wd
}

// fresh gives the world a new store and log.
func (w *world) fresh() {
	w.store = &memory{run: w.run}
	w.log = &journal{t: w.t, store: w.store}
	w.cfg.Store, w.cfg.Reporter = w.store, w.log
	w.cfg.Backends = map[protocol.Kind]runner.Backend{protocol.Prompt: w.actor}
	w.cfg.NewID = func() string { w.ids++; return fmt.Sprintf("s%d", w.ids) }
}

func (w *world) drive(resumed bool) error {
	r := runner.New(w.cfg, w.run)
	err := r.Run(w.t.Context(), resumed, nil)
	w.run = r.State()
	return err
}

func (w *world) want(status state.Status) {
	w.t.Helper()
	if got := w.run.Progress.Status; got != status {
		w.t.Errorf("status = %s (%s), want %s\n%s", got, w.run.Progress.Reason, status, strings.Join(w.log.names(), "\n"))
	}
}

func ended(r *state.Run) []string {
	var out []string
	for _, e := range r.Ended {
		out = append(out, e.Agent+"="+string(e.Result))
	}
	slices.Sort(out)
	return out
}

var allEnded = []string{"main=done", "main_work1=done", "main_work2=done"}

func TestForksCallsAndFaults(t *testing.T) {
	for _, parallel := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "START.md", func(o *state.Options) { o.MaxParallel = parallel })
			if err := w.drive(false); err != nil {
				t.Fatal(err)
			}
			w.want(state.Completed)
			if diff := cmp.Diff(allEnded, ended(w.run)); diff != "" {
				t.Errorf("%d at once: %s", parallel, diff)
			}
			for i, e := range w.log.events {
				if e.Seq != i+1 {
					t.Fatalf("event %d has seq %d", i+1, e.Seq)
				}
			}
			if got, want := w.run.Progress.TotalUSD, state.USD(len(w.actor.orders))*state.Dollar/10; got != want {
				t.Errorf("cost = %s, want %s for %d invocations", got, want, len(w.actor.orders))
			}
		})
	}
}

// TestCrashAnywhere cuts the run off after every save, takes it up from what was
// saved, and wants the end and the events of the undisturbed run.
func TestCrashAnywhere(t *testing.T) {
	var whole [][]byte
	var want []string
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "START.md", nil)
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		whole, want = w.store.saves, undisturbed(w.log.names())
	})
	t.Logf("%d saves", len(whole))
	for i := range whole[:len(whole)-1] {
		synctest.Test(t, func(t *testing.T) { crashAfter(t, i+1, want) })
	}
}

// crashAfter lets the save after the n-th fail, and resumes from the n-th.
func crashAfter(t *testing.T, n int, want []string) {
	w := newWorld(t, "START.md", nil)
	w.store.fail = n + 1
	if err := w.drive(false); !errors.Is(err, errDisk) {
		t.Fatalf("Run with save %d failing = %v", n+1, err)
	}
	told := w.log.events
	saved, err := state.Decode(w.store.saves[n-1])
	if err != nil {
		t.Fatalf("save %d: %v", n, err)
	}
	if got := w.run.Progress.Seq; got != saved.Progress.Seq {
		t.Errorf("save %d: memory is at step %d, disk at %d", n, got, saved.Progress.Seq)
	}
	for key := range w.actor.calls { // the world remembers what was answered, not what was asked
		w.actor.calls[key] = 0
	}
	for _, e := range told {
		replayCall(w.actor, e)
	}
	w.run = saved
	w.fresh()
	if err := w.drive(true); err != nil {
		t.Fatal(err)
	}
	w.want(state.Completed)
	w.log.events = append(told, w.log.events...)
	if diff := cmp.Diff(want, undisturbed(w.log.names())); diff != "" {
		t.Errorf("crash after save %d: undisturbed -, resumed +\n%s", n, diff)
	}
}

// replayCall counts the invocations that a told event shows to have ended.
func replayCall(a *actor, e state.Event) {
	switch e.Body.(type) {
	case *state.StateFinished, *state.Reminder, *state.Retry:
		a.calls[e.Agent+" "+e.State]++
	}
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

func TestRetriesWaitAndOthersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		w := newWorld(t, "PAIR.md", func(o *state.Options) { o.MaxIterations = 12 })
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		names := w.log.names()
		for _, want := range []string{"retry 1000ms", "retry 2000ms", "retry 4000ms"} {
			if !slices.Contains(names, "main_down1 DOWN "+want) {
				t.Errorf("no %q in\n%s", want, strings.Join(names, "\n"))
			}
		}
		if n := w.actor.calls["main_down1 DOWN.md"]; n != 4 {
			t.Errorf("DOWN was invoked %d times, want 4", n)
		}
		if n := w.actor.calls["main LOOP.md"]; n < 7 {
			t.Errorf("LOOP ran %d times during 7 s of back-off, want at least 7", n)
		}
		t.Logf("took %v", time.Since(begin))
	})
}

func TestHowRunsEnd(t *testing.T) {
	for _, tt := range []struct {
		entry  string
		change func(*state.Options)
		status state.Status
		calls  int
	}{
		{"DOWN.md", nil, state.Failed, 4},
		{"BAD.md", nil, state.Failed, 1},
		{"MUTE.md", nil, state.Failed, 4},
		{"LIMIT.md", nil, state.Suspended, 1},
		{"CAP.md", nil, state.OverBudget, 1},
		{"LOOP.md", func(o *state.Options) { o.MaxIterations = 5 }, state.OverIterations, 5},
		{"END.md", func(o *state.Options) { o.MaxIterations = 1 }, state.Completed, 1},
		{"LOOP.md", func(o *state.Options) { o.BudgetUSD = state.Dollar / 4 }, state.OverBudget, 3},
		{"MUTE.md", func(o *state.Options) { o.BudgetUSD = state.Dollar / 20 }, state.OverBudget, 1},
		{"END.md", func(o *state.Options) { o.BudgetUSD = state.Dollar / 20 }, state.Completed, 1},
		{"START.md", func(o *state.Options) { o.MaxAgents = 2 }, state.Failed, 4},
		{"HALF.md", nil, state.Failed, 2},
		{"HALF.md", func(o *state.Options) { o.KeepGoing = true }, state.Failed, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, tt.entry, tt.change)
			if err := w.drive(false); err != nil {
				t.Fatal(err)
			}
			w.want(tt.status)
			if got := len(w.actor.orders); got != tt.calls {
				t.Errorf("%s: %d invocations, want %d\n%s", tt.entry, got, tt.calls, strings.Join(w.log.names(), "\n"))
			}
		})
	}
}

func TestUnknownCostsFailAnAgentWithABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "LOOP.md", nil)
		w.actor.lost = true
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		w.want(state.Failed)
		if got := len(w.actor.orders); got != 3 {
			t.Errorf("%d invocations, want 3", got)
		}
	})
}

func TestACappedSessionGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "CAP.md", nil)
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		w.want(state.OverBudget)
		if err := w.drive(true); err != nil {
			t.Fatal(err)
		}
		w.want(state.Completed)
		first, second := w.actor.orders[0], w.actor.orders[1]
		if second.Prompt.Session != state.Resume || second.Prompt.SessionID != first.Prompt.SessionID || second.Prompt.Cut != nil {
			t.Errorf("second invocation: %s of %s, cut %v; want a resume of %s as it is", second.Prompt.Session, second.Prompt.SessionID, second.Prompt.Cut, first.Prompt.SessionID)
		}
		if strings.Contains(second.Prompt.Text, "prompt of") {
			t.Errorf("second prompt = %q, want no repetition of the first", second.Prompt.Text)
		}
	})
}

// TestCancel: after one signal states in flight get three seconds, after two
// none; either way the agent stays where it is and a resume runs it again.
func TestCancel(t *testing.T) {
	for signals, want := range map[int]time.Duration{1: 5 * time.Second, 2: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "END.md", nil)
			w.actor.slow = time.Hour
			begin := time.Now()
			go func() {
				for range signals {
					time.Sleep(2 * time.Second / time.Duration(signals))
					w.stop <- "SIGINT"
				}
			}()
			if err := w.drive(false); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took != want {
				t.Errorf("%d signals: ended after %v, want %v", signals, took, want)
			}
			w.want(state.Cancelled)
			if a := w.run.Agents[0]; a.Status != state.Busy || a.Exec.Retries != 0 {
				t.Errorf("agent is %s with %d retries, want running with 0", a.Status, a.Exec.Retries)
			}
			w.actor.slow = time.Second
			if err := w.drive(true); err != nil {
				t.Fatal(err)
			}
			w.want(state.Completed)
			if p := w.actor.orders[1].Prompt.Text; !strings.HasPrefix(p, "prompt of END.md") || !strings.Contains(p, "interrupted") {
				t.Errorf("prompt of the re-run = %q", p)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "LOOP.md", nil)
		w.actor.slow, w.cfg.Deadline = 20*time.Second, time.Minute+time.Second
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		w.want(state.Suspended)
		if !slices.Contains(w.log.names(), "limit") {
			t.Errorf("no limit event in %q", w.log.names())
		}
		if got := w.run.Progress.Iterations; got != 4 || w.run.Agents[0].Status != state.Ready {
			t.Errorf("%d executions, agent %s; want 4, the last finished in the grace", got, w.run.Agents[0].Status)
		}
	})
}

func TestWhatAgentsSayIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "END.md", nil)
		w.cfg.Telling = runner.TellAll
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(w.log.names(), "main END agent_output") {
			t.Errorf("events: %q", w.log.names())
		}
	})
}

// TestSavesAreStable: the same run saves the same bytes, so that digests of
// checkpoints mean something.
func TestSavesAreStable(t *testing.T) {
	var all [2][][]byte
	for i := range all {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "START.md", nil)
			w.run.Dir = "/"
			if err := w.drive(false); err != nil {
				t.Fatal(err)
			}
			all[i] = w.store.saves
		})
	}
	for i := range all[0] {
		if !bytes.Equal(all[0][i], all[1][i]) {
			t.Fatalf("save %d differs:\n%s", i, cmp.Diff(string(all[0][i]), string(all[1][i])))
		}
	}
}
