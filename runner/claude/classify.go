package claude

import (
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// apiError describes the API errors that the CLI has reported.
type apiError struct {
	kind    string    // the error in the last message that the CLI itself wrote
	limited bool      // the usage limit of a subscription was reached
	reset   time.Time // when that limit ends; zero if unknown
}

// setLimit stores the state of a subscription's usage limit.
func (e *apiError) setLimit(l rateLimit) {
	e.limited = l.Status == "rejected"
	e.reset = program.ParseEpoch(l.ResetsAt)
}

// classify returns the failure for a result record that contains no complete answer. The fields of the
// record take precedence over its text. Not all fields are reliable: an API error, for example, has the
// subtype "success".
func (e apiError) classify(r *result, text string) *runner.Failure {
	switch {
	case r.Subtype == "error_max_budget_usd":
		return &runner.Failure{Class: runner.OverBudget, Continue: true, Message: "budget of the invocation exhausted: " + text}
	case r.Subtype == "error_max_turns":
		return &runner.Failure{Class: runner.Fatal, Continue: true, Message: "turn limit reached: " + text}
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

// isUsageLimit reports whether an error is the usage limit of a subscription, which ends at a known
// time. It returns false for a rate limit, which ends soon.
func (e apiError) isUsageLimit(r *result, text string) bool {
	saysSo := strings.HasPrefix(text, "You've hit your") && strings.Contains(text, "limit")
	return saysSo || e.limited && (r.APIErrorStatus == 429 || e.kind == "rate_limit") && !strings.Contains(text, "not your usage limit")
}

// message returns the record's text on one line, with secrets masked by hide. If it contains no text,
// message returns the subtype.
func (r *result) message(hide func(string) string) string {
	text := r.Result
	if len(r.Errors) > 0 {
		text = strings.Join(r.Errors, "; ")
	}
	if text = program.OneLine(hide(text), 500); text == "" {
		return r.Subtype
	}
	return text
}
