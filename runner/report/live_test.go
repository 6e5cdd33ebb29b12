package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

var nine = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// writes collects each write separately.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

func starts(t *testing.T, c *Console, agents int) {
	t.Helper()
	for i := range agents {
		e := state.Event{
			Seq: i + 1, Time: nine, Agent: fmt.Sprintf("main_work%d", i), State: "WORK.md",
			Body: &state.StateStarted{Kind: "prompt", Attempt: 1},
		}
		report(t, c, e)
	}
}

func report(t *testing.T, to Reporter, e state.Event) {
	t.Helper()
	if err := to.Report(e); err != nil {
		t.Fatalf("report %+v: %v", e, err)
	}
}

// TestLiveLinesMakeWayForTyping: they are erased at once, and drawn again afterwards.
func TestLiveLinesMakeWayForTyping(t *testing.T) {
	var w writes
	c := NewConsole(&w, ConsoleOptions{Terminal: true})
	starts(t, c, 2)
	must(t, c.Tick(nine.Add(time.Second)))
	must(t, c.SetLive(false))
	if got, want := w[len(w)-1], "\x1b[2A\x1b[J"; got != want {
		t.Errorf("at once: got %q, want %q", got, want)
	}
	before := len(w)
	must(t, c.SetLive(false))
	must(t, c.Tick(nine.Add(2*time.Second)))
	if got := strings.Join(w[before:], ""); got != "" {
		t.Errorf("meanwhile: got %q, want nothing", got)
	}
	must(t, c.Tick(nine.Add(time.Minute)))
	if got := strings.Join(w[before:], ""); strings.Count(got, "still running") != 2 || strings.Contains(got, "\x1b") {
		t.Errorf("after a minute: got %q, want a whole line for each agent", got)
	}
	must(t, c.SetLive(true))
	if got := w[len(w)-1]; strings.Count(got, string(running)) != 2 {
		t.Errorf("afterwards: got %q, want a live line for each agent", got)
	}
}

// TestRedrawsSeldom states that the live lines are drawn at most ten times a
// second, however often the console is called.
func TestRedrawsSeldom(t *testing.T) {
	var w writes
	c := NewConsole(&w, ConsoleOptions{Terminal: true, Verbose: true})
	starts(t, c, 2)
	for ms := range 3000 {
		at := nine.Add(time.Duration(ms) * time.Millisecond)
		must(t, c.Tick(at))
		if ms >= 2000 {
			report(t, c, state.Event{Time: at, Agent: "main_work0", State: "WORK.md", Body: &state.AgentOutput{Text: "word"}})
		}
	}
	drawn := 0
	for _, out := range w {
		if strings.Contains(out, string(running)) {
			drawn++
		}
	}
	if drawn < 25 || drawn > 31 {
		t.Errorf("3000 ticks and 1000 lines in 3 s: the live lines were drawn %d times, want about 30", drawn)
	}
}

// TestLiveLinesFitTheScreen states that there are never so many live lines, nor
// such long ones, that a terminal could not erase them.
func TestLiveLinesFitTheScreen(t *testing.T) {
	var w writes
	c := NewConsole(&w, ConsoleOptions{Terminal: true, Width: 40})
	starts(t, c, 30)
	w = nil
	must(t, c.Tick(nine.Add(time.Minute)))
	out := strings.Join(w, "")
	if got := strings.Count(out, "\n"); got > 12 || !strings.Contains(out, "and 20 more") {
		t.Errorf("30 agents: %d rows, want at most 12 and the number of the others:\n%s", got, out)
	}
	for row := range strings.SplitSeq(out, "\n") {
		row = row[strings.LastIndex(row, "J")+1:]
		if columns(row) >= 40 {
			t.Errorf("live line %q has %d columns, want less than 40", row, columns(row))
		}
	}
}

// TestLiveLineTells states that a live line has agent, state, time, cost so far, and the
// last retry, reminder or attempt.
func TestLiveLineTells(t *testing.T) {
	var w writes
	c := NewConsole(&w, ConsoleOptions{Terminal: true})
	about := func(body state.Body) state.Event {
		return state.Event{Time: nine, Agent: "main", State: "A.md", Body: body}
	}
	report(t, c, about(&state.StateStarted{Kind: "prompt", Attempt: 1}))
	report(t, c, about(&state.StateFinished{OK: true, CostUSD: state.Dollar}))
	report(t, c, about(&state.Transition{Tag: "goto", Target: "B.md"}))
	report(t, c, state.Event{Time: nine, Agent: "main", State: "B.md", Body: &state.StateStarted{Kind: "prompt", Attempt: 1}})
	report(t, c, about(&state.NodeAttempt{Attempt: 1, CostUSD: state.Dollar / 4}))
	report(t, c, about(&state.Retry{N: 2, Error: "overloaded"}))
	must(t, c.Tick(nine.Add(90*time.Second)))
	got := w[len(w)-1]
	for _, want := range []string{"main", "B.md", "1m30s", "$1.25", "retry 2"} {
		if !strings.Contains(got, want) {
			t.Errorf("live line %q has no %q", got, want)
		}
	}
	must(t, c.Close())
	if got, want := w[len(w)-1], "\x1b[1A\x1b[J"; got != want {
		t.Errorf("close wrote %q, want %q", got, want)
	}
}

// TestSaysWhoRuns states that without a terminal no active agent is without a line for
// more than 30 seconds, whatever the ticks (except for their jitter), and that there
// are not many more lines than that.
func TestSaysWhoRuns(t *testing.T) {
	for _, every := range []time.Duration{time.Second / 10, time.Second, 7 * time.Second, 10 * time.Second, 29 * time.Second} {
		for seed := range uint64(5) {
			dice := rand.New(rand.NewPCG(seed, 1))
			var w writes
			c := NewConsole(&w, ConsoleOptions{})
			starts(t, c, 2)
			at, last, lines := nine, nine, 0
			for at.Before(nine.Add(10 * time.Minute)) {
				at = at.Add(every + time.Duration(dice.Int64N(int64(every/10))) - every/20)
				w = nil
				must(t, c.Tick(at))
				said := strings.Count(strings.Join(w, ""), "still running: main_work1 WORK.md")
				if gap := at.Sub(last); gap > progressEvery+every/5 {
					t.Fatalf("tick %s, seed %d: nothing said for %s at %s", every, seed, gap, at)
				}
				if said > 0 {
					last, lines = at, lines+1
				}
			}
			if limit := int(10*time.Minute/(progressEvery-every*3/2+every/2)) + 2; every < 10*time.Second && lines > limit {
				t.Errorf("tick %s, seed %d: %d lines in 10 minutes, want at most %d", every, seed, lines, limit)
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
