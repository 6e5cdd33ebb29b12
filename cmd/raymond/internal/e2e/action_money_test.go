//go:build linux

package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// The agents in these tests make API requests themselves, and report a cost of one cent. Each answer of the API costs
// $0.60 by the price list.

// TestAgentsCannotHideSpending shows that the key proxy counts the cost of every request, whatever the agent reports, and
// rejects requests when the budget is exhausted.
func TestAgentsCannotHideSpending(t *testing.T) {
	t.Parallel()
	const next = "reply:\n<goto>TWO.md</goto>\nend.\n-- wf/TWO.md --\nlog: two\nreply:\n<result>done</result>\nend.\n"
	overLimit := problem.ExitCodes[problem.ClassOverLimit]
	for name, c := range map[string]struct {
		first, budget string
		code          int
		answers       int64
		cost, says    string
	}{
		"within the budget": {"ask: 2\n" + next, "5", 0, 2, "1.21", "reports a cost of $0.0100, but what the key proxy counted costs $1.20"},
		"and a failure":     {"ask: 200\nfail:\n" + next, "1", overLimit, 2, "1.2", "~$1.20 of $1.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "-- wf/START.md --\n"+c.first)
			var answers atomic.Int64
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				answers.Add(1)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, `data: {"type":"message_start","message":{"id":"m","model":"claude-sonnet-5","usage":{"input_tokens":300000}}}`+"\n\n")
			}))
			defer api.Close()
			j := s.job(1, "clis", "claude="+sitetest.Stub.Path(t), "anthropic-api-key", modelKey, "budget", c.budget, "args", "--max-retries=1").setVariables("ANTHROPIC_BASE_URL", api.URL)
			e := j.do(c.code)
			assert.Check(t, is.Contains(e.Stdout+e.Stderr+e.Summary, c.says), "got\n%v\nwant %q in it", e, c.says)
			assert.Check(t, is.Equal(answers.Load(), c.answers), "answers that the API gave")
			e.WantOutputs(t, "cost-usd", c.cost)
			assert.Check(t, is.Equal(sitetest.Exists(s.effects), c.code == 0), "exit code %d: got the next state begun or not, want it where there is money", c.code)
		})
	}
}
