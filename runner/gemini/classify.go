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

// verdict says why there is no good answer; nil when there is one.
func (s *stream) verdict(exit proc.Exit, text string) *runner.Failure {
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
		words := program.OneLine(s.Display.Hide(s.words()), 500)
		return classify(words, statusOf(result.Error.Message, exit.Code), string(exit.StderrEnd()), time.Now())
	}
	return unanswered(s.Records, exit, program.DescribeExit(exit, s.Order))
}

// words are what the CLI says of an answer that is no good one.
func (s *stream) words() string {
	if message := s.answer.result.Error.Message; message != "" {
		if e := embedded(message); e.Error.Message != "" {
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

// exit codes of the CLI.
const (
	badLogin  = 41
	badInput  = 42
	badConfig = 52
)

// unanswered is the failure of a CLI that ended without a result.
func unanswered(records int, exit proc.Exit, ending string) *runner.Failure {
	last := string(exit.StderrEnd())
	switch {
	case exit.Code == badLogin:
		return program.Fatal("authentication: the agent CLI has no way to log in, such as GEMINI_API_KEY: %s", ending)
	case strings.Contains(last, "Error resuming session"):
		return program.Fatal("session gone: %s", ending)
	case records == 0 && strings.Contains(last, "No input provided via stdin"):
		// It waits half a second for its prompt, which it always gets: the machine stood still.
		return program.Transient("the agent CLI took its prompt for missing: %s", ending)
	case records == 0 && (exit.Code == badInput || exit.Code == badConfig):
		// It would say so again.
		return program.Fatal("the agent CLI refuses to start: %s", ending)
	}
	return program.Transient("no result: the agent CLI ended with %s", ending)
}

// apiError is an error as the API tells it, which the CLI passes on.
type apiError struct {
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// embedded reads the API's own error out of what the CLI says.
func embedded(message string) (e apiError) {
	if at := strings.IndexByte(message, '{'); at >= 0 {
		_ = json.NewDecoder(strings.NewReader(message[at:])).Decode(&e) // there is none then
	}
	return e
}

// statusOf returns the status of the API's answer; 0 when it gave none. The CLI exits with it, of
// which the system keeps the last eight bits.
func statusOf(message string, code int) int {
	if e := embedded(message); e.Error.Code > 0 {
		return e.Error.Code
	}
	if status := code + 256; status >= 400 && status < 512 {
		return status
	}
	return 0
}

// refusals are what the CLI says when the model does not want to answer.
var refusals = text.Regexp(`(?i)safety|blocked|recitation|prohibited`)

// classify says what an answer that is no good one means: by the words of the CLI, the status of
// the API, and the end of the CLI's standard error, which names the kind of the error.
func classify(words string, status int, last string, now time.Time) *runner.Failure {
	// A quota that is used up, not a rate limit, which ends in a moment.
	isQuota := strings.Contains(last, "TerminalQuotaError") && !strings.Contains(strings.ToLower(words), "capacity") && (status == 429 || status == 0)
	if isQuota || strings.Contains(words, "exhausted your daily quota") {
		return &runner.Failure{Class: runner.UsageLimit, Reset: reset(words, now), Message: "usage limit: " + words}
	}
	if status == 0 && refusals().MatchString(words) {
		return program.Fatal("the model refused: %s", words)
	}
	return program.ReportedFailure(words+last, status, words)
}

var pause = text.Regexp(`(?i)retry (?:after|in) ([0-9]{1,7})(?:\.[0-9]+)?s`)

// reset is when a quota can be used again; the zero time when nobody says so. Those of a day begin
// anew at midnight in California, by winter time at the latest.
func reset(words string, now time.Time) time.Time {
	if m := pause().FindStringSubmatch(words); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits
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
