package runner_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// memory is a store that holds the encoded run after every save.
type memory struct {
	run       *state.Run
	saves     [][]byte
	snapshots []time.Time // when snapshots were written
	fail      int         // number of the save that fails, counted from 1; 0 means none
}

// errDisk is the error of the save that memory.fail selects.
var errDisk = errors.New("disk full")

func (m *memory) Append(d *state.Delta) error { return m.save(m.run.With(d)) }
func (m *memory) Full() bool                  { return false }
func (m *memory) WriteSnapshot(r *state.Run, _ *state.Delta) error {
	m.snapshots = append(m.snapshots, time.Now())
	return m.save(r)
}

// save saves the encoded run, unless this save must fail.
func (m *memory) save(r *state.Run) error {
	if m.fail == len(m.saves)+1 {
		return errDisk
	}
	data, err := r.Encode()
	m.saves = append(m.saves, data)
	m.run, _ = state.Decode(data)
	return err
}

// journal collects events, and checks that no event is reported before it is saved.
type journal struct {
	t        *testing.T
	store    *memory
	events   []state.Event
	activity []runner.Progress
	notes    []string
}

func (j *journal) Tick(time.Time)                       {}
func (j *journal) Note(_, _, text string)               { j.notes = append(j.notes, text) }
func (j *journal) Doing(_, _ string, p runner.Progress) { j.activity = append(j.activity, p) }

// Report implements runner.Reporter.
func (j *journal) Report(e state.Event) {
	_, isOutput := e.Body.(*state.AgentOutput)
	_, stored := e.Body.(*state.Checkpoint)
	if !isOutput && !stored && e.Seq > j.store.run.Progress.Events {
		j.t.Errorf("event %d (%s) was reported before it was saved", e.Seq, e.Body.Type())
	}
	j.events = append(j.events, e)
}

// names returns a short description of each event.
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

// How long the agents and the commands take, unless a test changes it.
const (
	agentTime   = time.Second
	commandTime = 500 * time.Millisecond
)

// script is a fake agent CLI and a fake verifier. It supplies the answers of agents and the results
// of commands that a test has written down.
type script struct {
	runner.AgentCLI                                           // nil, because the run calls only the methods that are defined below
	answers         map[string][]string                       // answers by state; the last one repeats
	passes          map[string]int                            // attempt at which commands pass, by state
	exits           int                                       // exit code of the agent CLI
	slow            time.Duration                             // how long agents take
	inTokens        bool                                      // true if the agent CLI reports only tokens
	metered         []state.Usage                             // usage counted by a key proxy, if inTokens is true
	noShell         error                                     // why commands can't run; nil if they can
	beforeAnswer    func(report func(runner.Progress), n int) // called before the n-th answer in a state, from 0

	mu       sync.Mutex // guards the fields below
	orders   []runner.Order
	began    []time.Time // start times of the orders
	checks   []runner.Order
	verified []time.Time // ends of the checks
	calls    map[string]int
	digests  []string // directory and patterns of each call of SaveProtected
}

// claudeOnly returns the agent CLIs of a run whose only agent CLI is a.
func claudeOnly(a runner.AgentCLI) map[string]runner.AgentCLI {
	return map[string]runner.AgentCLI{protocol.BackendClaude: a}
}

// Abilities implements runner.AgentCLI. The script has every ability, except with inTokens.
func (c *script) Abilities() runner.Abilities {
	return runner.Abilities{Backend: protocol.BackendClaude, ChoosesID: true, ReportsUSD: !c.inTokens}
}

// Length implements runner.AgentCLI. It returns the length of the id as the transcript's length.
func (c *script) Length(k runner.Conversation) (int64, bool)             { return int64(len(k.ID)), true }
func (c *script) Usage(runner.Conversation, int64) ([]state.Usage, bool) { return nil, false }

// Run implements runner.Backend. If an answer contains "!", the text before it is the class of a
// failure, and the text after it is the failure's message.
func (c *script) Run(ctx context.Context, o runner.Order, report func(runner.Progress)) (runner.Answer, error) {
	c.mu.Lock()
	c.orders, c.began = append(c.orders, o), append(c.began, time.Now())
	n, lines := c.calls[o.Agent+" "+o.State], c.answers[o.State]
	c.calls[o.Agent+" "+o.State]++
	c.mu.Unlock()
	text := lines[min(n, len(lines)-1)]
	ans := runner.Answer{
		SessionID: o.Prompt.SessionID, Model: "m", Turns: 1, Process: state.Process{ExitCode: c.exits},
		Cost: state.Cost{Kind: state.Exact, USD: state.Dollar / 10, RunningTotal: state.RunningTotal{USD: o.Prompt.Reached.USD + state.Dollar/10}},
	}
	if c.inTokens {
		used := state.Usage{Model: o.Prompt.Model, Input: 1000, CacheRead: 200, Output: 50}
		ans.Cost = state.Cost{Kind: state.InTokens, Usage: []state.ModelCost{{Usage: used}}, Metered: c.metered}
	}
	if c.beforeAnswer != nil {
		c.beforeAnswer(report, n)
	}
	if !pass(ctx, c.slow) {
		return runner.Answer{}, &runner.Failure{Class: runner.Stopped, Message: context.Cause(ctx).Error()}
	}
	if class, message, bad := strings.Cut(text, "!"); bad {
		return ans, &runner.Failure{Class: runner.Class(class), Message: message}
	}
	ans.Text = text
	return ans, nil
}

// Verify implements runner.Verifier.
func (c *script) Verify(ctx context.Context, k runner.Order, report func(runner.Progress)) state.Verification {
	c.mu.Lock()
	c.checks = append(c.checks, k)
	c.mu.Unlock()
	report(runner.Progress{Activity: "checking " + strings.Join(k.Commands, ";")})
	if !pass(ctx, commandTime) {
		return state.Verification{Stopped: context.Cause(ctx).Error()}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.verified = append(c.verified, time.Now())
	name := strings.TrimSuffix(filepath.Base(k.LogFile), ".log")
	good := c.passes[name] > 0 && k.Attempt >= c.passes[name]
	var v state.Verification
	for _, cmd := range k.Commands {
		r := state.CommandResult{Cmd: cmd, DurationS: commandTime.Seconds()}
		if !good {
			r.RC, r.Tail = 3, fmt.Sprintf("tail of attempt %d", k.Attempt)
		}
		v.Results = append(v.Results, r)
	}
	return v
}

// Ready implements runner.Verifier.
func (c *script) Ready() error { return c.noShell }

// SaveProtected implements runner.Verifier.
func (c *script) SaveProtected(o runner.Order) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.digests = append(c.digests, o.Dir+" "+strings.Join(o.Protect, " "))
	return map[string]string{"a_test.go": fmt.Sprint("digest ", len(c.digests))}
}

// pass waits for d. It returns false if ctx ended the wait.
func pass(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// loop is a run of a workflow with a fake agent CLI, a fake store and a fake reporter.
type loop struct {
	*script
	t        *testing.T
	store    *memory
	log      *journal
	stop     chan string
	cfg      runner.Config
	run      *state.Run
	ids      int
	override *state.Options // options for the next resume
	disk     *disk          // set by vendors
}

// flow maps the name of each state, without .md, to its text. The last line of the text is also the
// agent's answer.
type flow map[string]string

// newLoop returns a run that begins at A.md.
func newLoop(t *testing.T, f flow, change func(*state.Options)) *loop {
	t.Helper()
	return newLoopAt(t, "A.md", f, change)
}

// newLoopAt returns a run that begins at the file entry. If change is not nil, it changes the
// options of the run.
func newLoopAt(t *testing.T, entry string, f flow, change func(*state.Options)) *loop {
	t.Helper()
	files, answers := fstest.MapFS{}, map[string][]string{}
	for name, text := range f {
		if filepath.Ext(name) == "" {
			name += ".md"
		}
		files[name] = &fstest.MapFile{Data: []byte(text)}
		answers[name] = []string{text[strings.LastIndex(text, "\n")+1:]}
	}
	w, problems := protocol.Load(files, protocol.LoadOptions{Entry: entry, Platform: protocol.Unix})
	assert.Assert(t, is.Len(problems, 0))
	opt := state.Options{
		BudgetUSD: 10 * state.Dollar, MaxParallel: 1, MaxAgents: 10, MaxDepth: 8, MaxRetries: 2, MaxReminders: 2,
		Grace: state.Duration(30 * time.Second), PermissionMode: "acceptEdits",
	}
	if change != nil {
		change(&opt)
	}
	l := &loop{t: t, stop: make(chan string), script: &script{answers: answers, slow: agentTime, passes: map[string]int{}, calls: map[string]int{}}}
	l.run = state.New(state.Run{
		WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: t.TempDir(), Entry: entry, Dir: t.TempDir(),
		Files: w.Hashes(), Options: opt, Meta: map[string]string{"who": "meta"},
	}, "payload", time.Now())
	l.cfg = runner.Config{
		Workflow: w, Agents: claudeOnly(l.script), Verifier: l.script, Cancel: l.stop, LogDir: "/logs",
		Clock: runner.Clock{Now: time.Now, After: time.After},
		NewID: func() string { l.ids++; return fmt.Sprintf("s%d", l.ids) },
	}
	l.fresh()
	return l
}

// fresh gives the loop a new store and log.
func (l *loop) fresh() {
	l.store = &memory{run: l.run}
	l.log = &journal{t: l.t, store: l.store}
	l.cfg.Store, l.cfg.Reporter = l.store, l.log
}

// drive runs the loop until the run ends with the given status, and checks the invariants of every run that
// has ended or is suspended. Events are added to the log.
func (l *loop) drive(resumed bool, want state.Status) {
	l.t.Helper()
	r := runner.New(l.cfg, l.run)
	err := r.Run(l.t.Context(), resumed, l.override)
	l.run = r.State()
	if got := l.run.Progress.Status; err != nil || got != want {
		l.t.Fatalf("ended as %s (%s), %v, want %s\n%s", got, l.run.Progress.Reason, err, want, strings.Join(l.log.names(), "\n"))
	}
	if len(l.log.events) == 0 || l.log.events[0].Seq != 1 {
		return // the run was restored without its log
	}
	left := invarianttest.Evidence{Run: l.run, Events: l.log.events}
	for _, o := range l.orders {
		left.Effects = append(left.Effects, invarianttest.Effect{Agent: o.Agent, State: o.State})
	}
	invarianttest.Want(l.t, left)
}

// crash runs the loop until save n+1 fails, and then restores the run that save n has saved. Events
// that were already reported stay in the log.
func (l *loop) crash(n int) {
	l.t.Helper()
	assert.Assert(l.t, l.crashIfPossible(n), "the run was over before save %d", n+1)
}

// crashIfPossible is like crash, but returns false if the run ends before save n+1. The number of
// saves varies, because agents that run at the same time and end together share a save.
func (l *loop) crashIfPossible(n int) bool {
	l.t.Helper()
	l.store.fail = n + 1
	r := runner.New(l.cfg, l.run)
	err := r.Run(l.t.Context(), false, nil)
	if err == nil {
		return false
	}
	assert.ErrorIs(l.t, err, errDisk, "run with save %d failing", n+1)
	l.restore(l.store.saves[n-1])
	return true
}

// crashAfterEachSave drives a run to its end. Then, for each save of that run, it drives another run
// until that save, cuts it off, and resumes it. check gets the run as it was at the cut, or nil for
// the first run.
func crashAfterEachSave(t *testing.T, start func(*testing.T) *loop, finish func(l *loop, resumed bool), check func(l *loop, cut *state.Run)) {
	t.Helper()
	saves := 0
	for n := 0; n == 0 || n < saves; n++ {
		synctest.Test(t, func(t *testing.T) {
			l := start(t)
			var cut *state.Run
			if n > 0 {
				if !l.crashIfPossible(n) {
					return
				}
				cut = l.run
			}
			finish(l, n > 0)
			if n == 0 {
				saves = len(l.store.saves)
			}
			check(l, cut)
		})
		assert.Assert(t, !t.Failed(), "killed after save %d of %d", n, saves)
	}
}

// toTheEnd drives a run without an interruption, and expects that it completes.
func toTheEnd(l *loop, resumed bool) { l.drive(resumed, state.Completed) }

// restore replaces the loop's run with a saved one. It counts in the log how many invocations have
// ended, so that each agent continues with its next answer.
func (l *loop) restore(data []byte) {
	l.t.Helper()
	l.run = decoded(l.t, data)
	events := l.log.events
	l.fresh()
	l.log.events = events
	clear(l.calls)
	for _, e := range events {
		switch e.Body.(type) {
		case *state.StateFinished, *state.Reminder, *state.Retry:
			l.calls[e.Agent+" "+e.State]++
		}
	}
}

// decoded returns the run in the data of a save.
func decoded(t *testing.T, data []byte) *state.Run {
	t.Helper()
	r, err := state.Decode(data)
	assert.NilError(t, err)
	return r
}

// ended returns the agents that have ended, each with its result, sorted.
func ended(r *state.Run) []string {
	var out []string
	for _, e := range r.Ended {
		out = append(out, e.Agent+"="+string(e.Result))
	}
	slices.Sort(out)
	return out
}

// eventsOf returns the events of one type so far.
func eventsOf[T state.Body](l *loop) []T {
	var out []T
	for _, e := range l.log.events {
		if b, ok := e.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// end returns the last run_finished event.
func (l *loop) end() *state.RunFinished {
	l.t.Helper()
	all := eventsOf[*state.RunFinished](l)
	if len(all) == 0 {
		l.t.Fatalf("no run_finished in\n%s", strings.Join(l.log.names(), "\n"))
	}
	return all[len(all)-1]
}

// order returns the n-th order, from 0.
func (l *loop) order(n int) runner.Order {
	l.t.Helper()
	if n >= len(l.orders) {
		l.t.Fatalf("agent runs: got %d, want at least %d\n%s", len(l.orders), n+1, strings.Join(l.log.names(), "\n"))
	}
	return l.orders[n]
}

// ordersFor returns the orders for a state.
func (l *loop) ordersFor(name string) []runner.Order {
	return slices.DeleteFunc(slices.Clone(l.orders), func(o runner.Order) bool { return o.State != name+".md" })
}

// same checks that got equals want. what describes the value.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	assert.Check(t, is.DeepEqual(got, want), what)
}
