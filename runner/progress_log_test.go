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

// babbler returns a function for script.beforeAnswer that reports many lines before each answer. The
// last line of an invocation ends in "the last".
func babbler(lines, length int) func(func(runner.Progress), int) {
	return func(report func(runner.Progress), n int) {
		for i := range lines {
			text := fmt.Sprintf("%d.%d %s", n, i, strings.Repeat("x", length))
			if i == lines-1 {
				text += " the last"
			}
			report(runner.Progress{Text: text})
		}
	}
}

// outputLines returns the lines of output that became events.
func outputLines(l *loop) []string {
	var lines []string
	for _, o := range eventsOf[*state.AgentOutput](l) {
		lines = append(lines, o.Text)
	}
	return lines
}

// TestOutputIsBounded checks that at most 500 lines of an invocation become events. The first lines
// are reported immediately, the last ones before the end of the invocation. The lines between them
// are only shown to users who watch the run.
func TestOutputIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "LIMIT", nil)
		l.cfg.Verbosity, l.beforeAnswer = runner.VerbosityBounded, babbler(700, 10)
		l.drive(false, state.Suspended)
		lines := outputLines(l)
		if len(lines) != 500 || !strings.HasPrefix(lines[0], "0.0 ") || !strings.HasSuffix(lines[499], " the last") {
			t.Fatalf("got %d lines, %.20q to %.20q, want 500, from the first to the last", len(lines), lines[0], lines[len(lines)-1])
		}
		names := l.log.names()
		assert.Check(t, strings.HasSuffix(names[len(names)-1], string(state.Suspended)), "the end is the last of %q", names)
		same(t, "lines that are not events", 700-450, len(l.log.activity))
	})
}

// TestFullVerbosityReportsAllOutput checks that VerbosityFull reports every line, and that
// secrets are hidden before lines are cut, because half a secret can't be recognized.
func TestFullVerbosityReportsAllOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "END", nil)
		l.cfg.Verbosity = runner.VerbosityFull
		l.cfg.Redact = func(s string) string { return strings.ReplaceAll(s, "the secret", "***") }
		l.beforeAnswer = func(report func(runner.Progress), n int) {
			report(runner.Progress{Text: strings.Repeat("x", 1996) + "the secret"})
			report(runner.Progress{Activity: "running Bash(the secret)"})
			babbler(3000, 200)(report, n)
		}
		l.drive(false, state.Completed)
		lines := outputLines(l)
		same(t, "lines, the end of the first", []any{3001, "x***"}, []any{len(lines), lines[0][len(lines[0])-4:]})
		same(t, "activity is not an event", []runner.Progress{{Activity: "running Bash(***)"}}, l.log.activity)
	})
}

// TestChecksAreReported checks that each command which verifies an attempt is reported, except at
// VerbosityNone.
func TestChecksAreReported(t *testing.T) {
	for verbosity, want := range map[runner.Verbosity][]runner.Progress{
		runner.VerbosityNone: nil, runner.VerbosityBounded: {{Activity: "checking go test"}, {Activity: "checking go test"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "---\ndone_when: [go test]\n---\n<result>x</result>"}, nil)
			l.passes["A.md"], l.cfg.Verbosity = 2, verbosity
			l.drive(false, state.Completed)
			same(t, fmt.Sprintf("verbosity %d", verbosity), want, l.log.activity)
		})
	}
}
