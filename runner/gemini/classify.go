package gemini

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// failure returns the reason for an answer that is missing or can't be used. It returns nil for a
// usable answer. text is the text of the answer.
func (s *stream) failure(exit proc.Exit, text string) *runner.Failure {
	result := s.answer.result
	switch {
	case s.EarlyFailure != nil:
		return s.EarlyFailure
	case result != nil && result.Status == "success" && (text != "" || s.answer.warning == ""):
		return nil
	}
	if f := program.EndFailure(exit, s.Order); f != nil {
		return f
	}
	if result != nil {
		words := program.OneLine(s.Display.Hide(s.errorText()), 500)
		return classify(words, statusOf(result.Error.Message, exit.Code), string(exit.StderrEnd()), time.Now())
	}
	last, ending := string(exit.StderrEnd()), program.DescribeExit(exit, s.Order)
	switch {
	case exit.Code == exitBadLogin:
		return program.Fatal("authentication: the agent CLI has neither a key nor a login; set GEMINI_API_KEY: %s", ending)
	case strings.Contains(last, "Error resuming session"):
		return program.Fatal("session gone: %s", ending)
	case s.Records == 0 && strings.Contains(last, "No input provided via stdin"):
		// The CLI waits only half a second for its prompt. The prompt is always sent, so the
		// machine was too slow.
		return program.Transient("the agent CLI did not read its prompt in time: %s", ending)
	case s.Records == 0 && (exit.Code == exitBadInput || exit.Code == exitBadConfig):
		// The CLI rejects its settings or arguments. A retry would fail in the same way.
		return program.Fatal("the agent CLI refuses to start: %s", ending)
	}
	return program.Transient("no result: the agent CLI ended with %s", ending)
}

// errorText returns the CLI's reason for an answer that is not usable.
func (s *stream) errorText() string {
	if message := s.answer.result.Error.Message; message != "" {
		if e := embeddedError(message); e.Error.Message != "" {
			return e.Error.Message
		}
		message, _, _ = strings.Cut(message, "\nPlease wait and try again later.")
		if message, ok := strings.CutPrefix(message, "[API Error: "); ok {
			return strings.TrimSuffix(message, "]")
		}
		return message
	}
	if s.answer.warning != "" {
		return s.answer.warning
	}
	return "the model's answer is empty"
}

// Exit codes of the CLI.
const (
	exitBadLogin  = 41
	exitBadInput  = 42
	exitBadConfig = 52
)

// apiError is an error response of the API, which the CLI includes in its messages.
type apiError struct {
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// embeddedError decodes an error of the API that is part of a message of the CLI. It returns the
// zero value if the message contains none.
func embeddedError(message string) (e apiError) {
	if at := strings.IndexByte(message, '{'); at >= 0 {
		_ = json.NewDecoder(strings.NewReader(message[at:])).Decode(&e) // if this fails, e is the zero value
	}
	return e
}

// statusOf returns the HTTP status of the API's response, or 0 if the API has not responded. If the
// message doesn't contain the status, it is computed from the exit code: the CLI exits with the
// status, and the system keeps only its low eight bits.
func statusOf(message string, code int) int {
	if e := embeddedError(message); e.Error.Code > 0 {
		return e.Error.Code
	}
	if status := code + 256; status >= 400 && status < 512 {
		return status
	}
	return 0
}

// modelRefusal matches the messages that the CLI prints when the model did not answer for safety or
// similar reasons.
var modelRefusal = text.Regexp(`(?i)safety|blocked|recitation|prohibited`)

// classify returns the failure for an answer that is not usable. words is the CLI's message, status
// is the status of the API's response, and last is the end of the CLI's stderr, which names the
// kind of error.
func classify(words string, status int, last string, now time.Time) *runner.Failure {
	// An exhausted quota is a usage limit. A rate limit is not, since it ends soon.
	isQuota := strings.Contains(last, "TerminalQuotaError") && !strings.Contains(strings.ToLower(words), "capacity") && (status == 429 || status == 0)
	if isQuota || strings.Contains(words, "exhausted your daily quota") {
		return &runner.Failure{Class: runner.UsageLimit, Reset: resetTime(words, now), Message: "usage limit: " + words}
	}
	if status == 0 && modelRefusal().MatchString(words) {
		return program.Fatal("the model refused: %s", words)
	}
	return program.ReportedFailure(words+last, status, words)
}

// retryDelay matches the number of seconds after which a request may be repeated.
var retryDelay = text.Regexp(`(?i)retry (?:after|in) ([0-9]{1,7})(?:\.[0-9]+)?s`)

// resetTime returns when a quota is renewed, or the zero time if the message doesn't contain that.
// Daily quotas are renewed at midnight in California, which is assumed to be 08:00 UTC, as in winter.
func resetTime(words string, now time.Time) time.Time {
	if m := retryDelay().FindStringSubmatch(words); m != nil {
		n, _ := strconv.Atoi(m[1]) // can't fail, since the text consists of digits
		return now.Add(time.Duration(n) * time.Second).UTC()
	}
	if !strings.Contains(words, "daily quota") {
		return time.Time{}
	}
	day := now.UTC().Truncate(24 * time.Hour).Add(8 * time.Hour)
	if !day.After(now) {
		day = day.Add(24 * time.Hour)
	}
	return day
}
