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
	e.reset = program.Epoch(l.ResetsAt)
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
	case strings.Contains(text, "No conversation found"):
		return program.Fatal("session gone: %s", text)
	case r.isRefusal():
		return program.Fatal("the model refused: %s", text)
	case r.Subtype == "success" && !r.IsError:
		return program.Transient("no complete answer: the stream broke off")
	case e.isUsageLimit(r, text):
		return &runner.Failure{Class: runner.UsageLimit, Reset: e.reset, Message: "usage limit: " + text}
	}
	return errorWords.Failure(e.kind+" "+r.TerminalReason+" "+text, r.APIErrorStatus, text)
}

// isUsageLimit tells a subscription's limit, which ends at a known time, from a
// rate limit, which ends in a moment.
func (e apiError) isUsageLimit(r *result, text string) bool {
	if strings.HasPrefix(text, "You've hit your") && strings.Contains(text, "limit") {
		return true
	}
	if strings.Contains(text, "not your usage limit") {
		return false
	}
	return e.limited && (r.APIErrorStatus == 429 || e.kind == "rate_limit")
}

// errorWords are the CLI's names for errors, and what it says where there are none.
var errorWords = program.Errors{
	Authentication: []string{"authentication_failed", "oauth_org_not_allowed", "Not logged in", "Invalid API key", "Failed to authenticate"},
	Billing:        []string{"billing_error", "Credit balance is too low"},
	Model:          []string{"model_not_found", "There's an issue with the selected model"},
	Request:        []string{"invalid_request", "prompt_too_long", "image_error", "Prompt is too long", "Request too large"},
	Service: []string{
		"rate_limit", "overloaded", "server_error", "Overloaded", "Request timed out",
		"ECONNREFUSED", "ConnectionRefused", "ECONNRESET", "EPIPE", "ECONNABORTED", "ConnectionClosed", "ERR_SOCKET_CLOSED", "UND_ERR_SOCKET", "ETIMEDOUT",
	},
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
