package claude

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
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
	e.reset = epoch(l.ResetsAt)
}

// epoch reads seconds since 1970. Anything but a credible number is the zero
// time.
func epoch(raw jsontext.Value) time.Time {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(n > 0 && n < 1e11) {
		return time.Time{}
	}
	return time.Unix(int64(n), 0).UTC()
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
	if what := permanent(e.kind, r, text); what != "" {
		return program.Fatal("%s: %s", what, text)
	}
	f := program.Transient("the agent CLI reports: %s", text)
	if isService(e.kind, r, text) {
		f.Class = runner.Service
	}
	return f
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

// permanentKinds are the CLI's names for errors that another try won't cure.
var permanentKinds = map[string]string{
	"authentication_failed": "authentication",
	"oauth_org_not_allowed": "authentication",
	"billing_error":         "billing",
	"model_not_found":       "unknown model",
	"invalid_request":       "bad request",
}

// permanentTexts are for errors with neither.
var permanentTexts = []struct{ text, what string }{
	{"Not logged in", "authentication"},
	{"Invalid API key", "authentication"},
	{"Failed to authenticate", "authentication"},
	{"Credit balance is too low", "billing"},
	{"Prompt is too long", "bad request"},
	{"Request too large", "bad request"},
	{"There's an issue with the selected model", "unknown model"},
}

// permanent returns what is wrong when another try won't cure it, else "".
func permanent(kind string, r *result, text string) string {
	if what := permanentKinds[kind]; what != "" {
		return what
	}
	status := r.APIErrorStatus
	if what := program.PermanentStatus(status); what != "" {
		return what
	}
	if r.TerminalReason == "prompt_too_long" || r.TerminalReason == "image_error" {
		return "bad request"
	}
	for _, p := range permanentTexts {
		if status == 0 && strings.HasPrefix(text, p.text) {
			return p.what
		}
	}
	return ""
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
