package runner_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
)

// TestRepeatingFaultsAreFatal checks that the words of vendors' APIs and CLIs take precedence over
// the status, and that only temporary statuses are retried.
func TestRepeatingFaultsAreFatal(t *testing.T) {
	for words, want := range map[string]string{
		"max_output_tokens API Error: Claude's response exceeded the 128000 output token maximum.":    "output limit",
		"Incomplete response returned, reason: max_output_tokens":                                     "output limit",
		"rate_limit API Error: Extra usage is required for long context requests.":                    "billing",
		"rate_limit API Error: Usage credits required for 1M context · turn on usage credits":         "billing",
		"invalid_request You are out of extra usage. Add more at claude.ai/settings/usage.":           "billing",
		"rate_limit You're out of usage credits · resets Jan 21, 10:28am (UTC)":                       "service failed",
		"rate_limit insufficient_quota":                                                               "billing",
		"You have reached your specified API usage limits. You will regain access on 2027-01-01":      "billing",
		"invalid_request prompt_too_long Prompt is too long":                                          "prompt too long",
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":     "prompt too long",
		"invalid_request API Error: 400 due to tool use concurrency issues.":                          "conversation refused",
		"messages.5.content.0: `thinking` blocks in the latest assistant message cannot be modified.": "conversation refused",
		"invalid_request API Error: 400 messages: text content blocks must be non-empty":              "conversation refused",
		"No tool output found for function call call_1.":                                              "conversation refused",
		"invalid_request appears to violate our Usage Policy":                                         "the model refused",
		"The model `gpt-x` does not exist or you do not have access to it.":                           "unknown model",
		"rate_limit slow down":                              "service failed",
		"server_error Unable to connect to API (ENOTFOUND)": "no way to the service",
		"something else":                                    "other",
	} {
		status := 0
		if f, _ := runner.FindFault(want); f.Class == runner.Fatal {
			status = 429
			assert.Check(t, is.Equal(runner.ClassifyFault(words, 400).Name, want), words)
		}
		assert.Check(t, is.Equal(runner.ClassifyFault(words, status).Name, want), words)
	}
	retried := []int{408, 409, 425, 429}
	for status := 400; status < 600; status++ {
		isRetried := runner.ClassifyFault("x", status).Class != runner.Fatal
		assert.Check(t, is.Equal(isRetried, status >= 500 || slices.Contains(retried, status)), "status %d", status)
	}
}
