package codex

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// The CLI reports errors only as text. The texts below come from the pinned version; tests with
// that version check them.

// statusForm matches an HTTP status in an error text of the CLI.
var statusForm = text.Regexp(`(?:unexpected status|last status:) (\d{3})\b`)

// statusIn returns the HTTP status in an error text of the CLI, or 0 if the text contains no
// status.
func statusIn(words string) int {
	m := statusForm().FindStringSubmatch(words)
	if m == nil {
		return 0
	}
	status, _ := strconv.Atoi(m[1])
	return status
}

// classify returns the failure for a turn that the CLI ended with an error text. hide masks secrets
// in the failure's message.
func classify(words string, hide func(string) string) *runner.Failure {
	text, status := program.OneLine(hide(words), 500), statusIn(words)
	switch {
	case strings.HasPrefix(words, "You’ve hit your usage limit"), strings.HasPrefix(words, "You've hit your usage limit"):
		return &runner.Failure{Class: runner.UsageLimit, Reset: resetOf(words, time.Now()), Message: "usage limit: " + text}
	case strings.HasPrefix(words, "{"): // for status 400, the CLI prints the body of the response
		status = http.StatusBadRequest
	}
	return program.ReportedFailure(words, status, text)
}

// resetForm matches the time in an error text at which a usage limit ends.
var resetForm = text.Regexp(`try again at (?:([A-Z][a-z]{2} \d{1,2})(?:st|nd|rd|th), (\d{4}) )?(\d{1,2}:\d{2} [AP]M)`)

// resetOf returns the time at which a usage limit ends, or the zero time if the text doesn't
// contain it. The CLI prints local time, and omits the date if the limit ends on the same day.
func resetOf(words string, now time.Time) time.Time {
	m := resetForm().FindStringSubmatch(words)
	if m == nil {
		return time.Time{}
	}
	day := now.Format("Jan 2 2006")
	if m[1] != "" {
		day = m[1] + " " + m[2]
	}
	at, err := time.ParseInLocation("Jan 2 2006 3:04 PM", day+" "+m[3], now.Location())
	if err != nil {
		return time.Time{}
	}
	// The text contains no seconds, so round up.
	if at = at.Add(time.Minute); m[1] == "" && at.Before(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at.UTC()
}

// startFailure returns the failure of an invocation whose process exited before its turn started.
func startFailure(exit proc.Exit, o runner.Order) *runner.Failure {
	for line := range strings.Lines(string(exit.StderrTail)) {
		switch line = strings.TrimSpace(line); {
		case strings.Contains(line, "no rollout found"), strings.Contains(line, "missing source rollout"):
			return program.Fatal("session gone: %s", program.OneLine(program.Hider(o)(line), 300))
		case strings.HasPrefix(strings.ToLower(line), "error"):
			// The CLI rejects its configuration or arguments. A retry would fail in the same way.
			return program.Fatal("the agent CLI refuses to start: %s", program.OneLine(program.Hider(o)(line), 300))
		}
	}
	return program.Transient("the agent CLI exited before it started the turn, with %s", program.DescribeExit(exit, o))
}
