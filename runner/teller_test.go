package runner_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

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

// said are the lines that were events.
func said(l *loop) []string {
	var lines []string
	for _, o := range told[*state.AgentOutput](l) {
		lines = append(lines, o.Text)
	}
	return lines
}

// TestWhatIsToldIsBounded: of a flood of lines of an invocation no more than 500 are told; the first at once, the last of
// all before what ends with it. The others go to those who watch.
func TestWhatIsToldIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "LIMIT", nil)
		l.cfg.Verbosity, l.babble = runner.VerbosityBounded, babbler(700, 10)
		l.drive(false, state.Suspended)
		lines := said(l)
		if len(lines) != 500 || !strings.HasPrefix(lines[0], "0.0 ") || !strings.HasSuffix(lines[499], " the last") {
			t.Fatalf("got %d lines, %.20q to %.20q, want 500, from the first to the last", len(lines), lines[0], lines[len(lines)-1])
		}
		names := l.log.names()
		assert.Check(t, strings.HasSuffix(names[len(names)-1], string(state.Suspended)), "the end is the last of %q", names)
		same(t, "lines that are no events", 700-450, len(l.log.doing))
	})
}

// TestAllIsToldWhenAsked: without bounds a flood is told whole. Secrets are hidden before lines
// are cut, since nobody would find the half of one afterwards.
func TestAllIsToldWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "END", nil)
		l.cfg.Verbosity = runner.VerbosityFull
		l.cfg.Redact = func(s string) string { return strings.ReplaceAll(s, "the secret", "***") }
		l.babble = func(tell func(runner.Progress), n int) {
			tell(runner.Progress{Text: strings.Repeat("x", 1996) + "the secret"})
			tell(runner.Progress{Activity: "running Bash(the secret)"})
			babbler(3000, 200)(tell, n)
		}
		l.drive(false, state.Completed)
		lines := said(l)
		same(t, "lines, the end of the first", []any{3001, "x***"}, []any{len(lines), lines[0][len(lines[0])-4:]})
		same(t, "what is done is no event", []runner.Progress{{Activity: "running Bash(***)"}}, l.log.doing)
	})
}

// TestWhatIsCheckedIsTold: which command verifies an attempt, to those who want
// to be told anything.
func TestWhatIsCheckedIsTold(t *testing.T) {
	for telling, want := range map[runner.Verbosity][]runner.Progress{
		runner.VerbosityNone: nil, runner.VerbosityBounded: {{Activity: "checking go test"}, {Activity: "checking go test"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "---\ndone_when: [go test]\n---\n<result>x</result>"}, nil)
			l.passes["A.md"], l.cfg.Verbosity = 2, telling
			l.drive(false, state.Completed)
			same(t, fmt.Sprintf("telling %d", telling), want, l.log.doing)
		})
	}
}
