package runner_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// babbler says so many lines of a length before each answer. The last line of an
// invocation ends in "the last".
func babbler(lines, length int) func(func(runner.Progress), int) {
	return func(tell func(runner.Progress), n int) {
		for i := range lines {
			text := fmt.Sprintf("%d.%d %s", n, i, strings.Repeat("x", length))
			if i == lines-1 {
				text += " the last"
			}
			tell(runner.Progress{Text: text})
		}
	}
}

// speech is what was told of one state execution.
type speech struct {
	lines []string
	bytes int
	ended bool // by an event of its own, not by the run's
}

// heard returns what was told of each state execution, in order of their ends.
func heard(t *testing.T, log *journal) []speech {
	t.Helper()
	var all []speech
	open := map[string]*speech{}
	end := func(agent string, ended bool) {
		if s := open[agent]; s != nil {
			s.ended = ended
			all = append(all, *s)
			delete(open, agent)
		}
	}
	for i, e := range log.events {
		if e.Seq != i+1 {
			t.Fatalf("event %d: got seq %d", i+1, e.Seq)
		}
		switch b := e.Body.(type) {
		case *state.StateStarted:
			open[e.Agent] = &speech{}
		case *state.AgentOutput:
			s := open[e.Agent]
			if s == nil {
				t.Fatalf("event %d: %q was told of no execution", e.Seq, b.Text)
			}
			s.lines, s.bytes = append(s.lines, b.Text), s.bytes+len(b.Text)
		case *state.StateFinished:
			end(e.Agent, true)
		case *state.RunFinished:
			for agent := range open {
				end(agent, false)
			}
		}
	}
	return all
}

// TestWhatIsToldIsBounded: whatever an execution ends with, of a flood of lines no
// more than 500 and 256 KiB are told; the first at once, the last of all before
// the end. The numbers of the events have no gap.
func TestWhatIsToldIsBounded(t *testing.T) {
	for _, length := range []int{10, 1900} {
		for entry, want := range map[string]struct {
			status state.Status
			ends   bool   // executions have ends of their own
			last   string // invocation
		}{
			"END":   {state.Completed, true, "0"},
			"BAD":   {state.Failed, true, "0"},
			"DOWN":  {state.Failed, true, "2"}, // after two retries
			"MUTE":  {state.Failed, true, "2"}, // after two reminders
			"LIMIT": {state.Suspended, false, "0"},
			"CAP":   {state.OverBudget, false, "0"},
			"LOOP":  {state.Cancelled, false, ""},
			"START": {state.Completed, true, ""},
			"HALF":  {state.Failed, true, ""}, // an agent fails while another works
		} {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t, entry, func(o *state.Options) { o.KeepGoing, o.MaxParallel = true, 2 })
				l.cfg.Telling, l.babble = runner.TellBounded, babbler(700, length)
				go func() {
					if entry == "LOOP" {
						<-time.After(20*time.Second + l.slow/2)
						l.stop <- "SIGTERM"
						l.stop <- "SIGTERM"
					}
				}()
				l.drive(false, want.status)
				all := heard(t, l.log)
				if len(all) == 0 || all[len(all)-1].ended != want.ends {
					t.Fatalf("%s: got %d executions, want some, the last with an end of its own: %v", entry, len(all), want.ends)
				}
				for i, s := range all {
					checkSpeech(t, fmt.Sprintf("%s, lines of %d, execution %d", entry, length, i), s, want.last)
				}
				if len(l.log.doing) == 0 || l.log.doing[0].Text == "" {
					t.Errorf("%s: got signs of life %v, want the lines that are no events", entry, l.log.doing)
				}
			})
		}
	}
}

// TestLastWordsOfOneThatWaits: a run that ends while an agent waits to be tried
// again has its last words too.
func TestLastWordsOfOneThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "DOWN", nil)
		l.cfg.Telling, l.babble = runner.TellBounded, babbler(700, 10)
		go func() {
			<-time.After(l.slow + 100*time.Millisecond) // of the first wait, which is a second
			l.stop <- "SIGTERM"
		}()
		l.drive(false, state.Cancelled)
		checkSpeech(t, "cancelled in a wait", heard(t, l.log)[0], "0")
	})
}

func checkSpeech(t *testing.T, what string, s speech, invocation string) {
	t.Helper()
	if len(s.lines) > 500 || s.bytes > 256<<10 || s.bytes < 20<<10 && len(s.lines) < 500 {
		t.Errorf("%s: got %d lines, %d bytes, want at most 500 and 256 KiB, and not much less", what, len(s.lines), s.bytes)
	}
	left, last := 0, s.lines[len(s.lines)-1]
	for _, line := range s.lines {
		if strings.Contains(line, "left out") {
			left++
		}
	}
	if !strings.Contains(s.lines[0], ".0 ") || left != 1 {
		t.Errorf("%s: got %.40q first, and %d lines on what is left out, want the first of all and one", what, s.lines[0], left)
	}
	if !strings.HasPrefix(last, invocation) || !strings.HasSuffix(last, " the last") {
		t.Errorf("%s: got %.40q as the last line, want the last of invocation %s", what, last, invocation)
	}
}

// TestWhatIsToldOfLittle: below the bounds every line is an event, at once.
func TestWhatIsToldOfLittle(t *testing.T) {
	for _, telling := range []runner.Telling{runner.TellBounded, runner.TellAll} {
		synctest.Test(t, func(t *testing.T) {
			l := newWorld(t, "END", nil)
			l.cfg.Telling, l.babble = telling, babbler(400, 10)
			l.drive(false, state.Completed)
			if got := len(heard(t, l.log)[0].lines); got != 400 {
				t.Errorf("telling %d: got %d lines, want 400", telling, got)
			}
			if len(l.log.doing) > 0 {
				t.Errorf("telling %d: got signs of life %v, want none beside the lines", telling, l.log.doing)
			}
		})
	}
}

// TestAllIsToldWhenAsked: without bounds a flood is told whole.
func TestAllIsToldWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "END", nil)
		l.cfg.Telling, l.babble = runner.TellAll, babbler(3000, 200)
		l.drive(false, state.Completed)
		if got := len(heard(t, l.log)[0].lines); got != 3000 {
			t.Errorf("got %d lines, want 3000", got)
		}
	})
}

// TestWhatIsDoneIsNoEvent: what goes on reaches those who show it, and no log.
func TestWhatIsDoneIsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "END", nil)
		l.cfg.Telling = runner.TellBounded
		l.cfg.Redact = func(s string) string { return strings.ReplaceAll(s, "secret", "***") }
		l.babble = func(tell func(runner.Progress), _ int) { tell(runner.Progress{Doing: "running Bash(secret)"}) }
		l.drive(false, state.Completed)
		if got, want := l.log.doing, (runner.Progress{Doing: "running Bash(***)"}); len(got) != 1 || got[0] != want {
			t.Errorf("got %v, want %v", got, want)
		}
		if got := heard(t, l.log)[0].lines; len(got) > 0 {
			t.Errorf("got lines %q, want none", got)
		}
	})
}

// TestWhatIsCheckedIsTold: which command verifies an attempt, to those who want
// to be told anything.
func TestWhatIsCheckedIsTold(t *testing.T) {
	for telling, want := range map[runner.Telling][]runner.Progress{
		runner.TellNothing: nil, runner.TellBounded: {{Doing: "checking go test"}, {Doing: "checking go test"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "---\ndone_when: [go test]\n---\n<result>x</result>"}, nil)
			l.passes["A.md"], l.cfg.Telling = 2, telling
			l.drive(false, state.Completed)
			same(t, fmt.Sprintf("telling %d", telling), want, l.log.doing)
		})
	}
}
