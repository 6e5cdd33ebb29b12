package claude

import (
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// apiError is what the CLI has said of the API's errors.
type apiError struct {
	kind    string    // of the last message that the CLI wrote itself
	limited bool      // a usage limit was reached
	reset   time.Time // of that limit; zero when unknown
}

// limit takes in what a subscription's limit is at.
func (e *apiError) limit(l rateLimit) {
	e.limited = l.Status == "rejected"
	e.reset = program.ParseEpoch(l.ResetsAt)
}

// classify says what a result record that is no good answer means. The CLI's
// own fields decide, its words only where there are no fields: an API error, for
// one, has the subtype "success".
func (e apiError) classify(r *result, text string) *runner.Failure {
	switch {
	case r.Subtype == "error_max_budget_usd":
		return &runner.Failure{Class: runner.OverBudget, Continue: true, Message: "budget of the invocation used up: " + text}
	case r.Subtype == "error_max_turns":
		return &runner.Failure{Class: runner.Fatal, Continue: true, Message: "turns used up: " + text}
	case r.isRefusal():
		return program.Fatal("the model refused: %s", text)
	case r.Subtype == "success" && !r.IsError:
		return program.Transient("no complete answer: the stream broke off")
	}
	words := e.kind + " " + r.TerminalReason + " " + text
	if runner.ClassifyFault(words, 0).Class != runner.Fatal && e.isUsageLimit(r, text) {
		return &runner.Failure{Class: runner.UsageLimit, Reset: e.reset, Message: "usage limit: " + text}
	}
	return program.ReportedFailure(words, r.APIErrorStatus, text)
}

// isUsageLimit tells a subscription's limit, which ends at a known time, from a
// rate limit, which ends in a moment.
func (e apiError) isUsageLimit(r *result, text string) bool {
	saysSo := strings.HasPrefix(text, "You've hit your") && strings.Contains(text, "limit")
	return saysSo || e.limited && (r.APIErrorStatus == 429 || e.kind == "rate_limit") && !strings.Contains(text, "not your usage limit")
}

// words returns what the record says in words, as one line.
func (r *result) words(hide func(string) string) string {
	text := r.Result
	if len(r.Errors) > 0 {
		text = strings.Join(r.Errors, "; ")
	}
	if text = program.OneLine(hide(text), 500); text == "" {
		return r.Subtype
	}
	return text
}
