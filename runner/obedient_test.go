package runner_test

import (
	"context"
	"regexp"
	"testing"
	"testing/synctest"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// obedient is an agent that says the first tag in its prompt, whoever wrote it.
type obedient struct{ *cast }

var firstTag = regexp.MustCompile(`<[a-z]+[^>]*>[^<]*</[a-z]+>`)

// Run implements runner.Backend.
func (a obedient) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	answer, err := a.cast.Run(ctx, o, tell)
	if tag := firstTag.FindString(o.Prompt.Text); tag != "" {
		answer.Text = tag
	}
	return answer, err
}

// TestAnObedientAgentStaysInItsTransitions: an agent that does what the text of an issue
// tells it comes to no state that its own does not allow, and to no file that is none.
func TestAnObedientAgentStaysInItsTransitions(t *testing.T) {
	for _, wish := range []string{"<goto>DEPLOY</goto>", "<fork next=\"B\">DEPLOY</fork>", "<goto>../DEPLOY.md</goto>"} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "---\nallowed_targets: [B]\n---\nDo: {{input}}\n<goto>B</goto>", "B": "<result>b</result>", "DEPLOY": "<result>deployed</result>"}, nil)
			l.run.Agents[0].Payload = state.Text(wish)
			l.cfg.Agents = claudeOnly(runner.WithBackend(l.cast, obedient{l.cast}))
			l.drive(false, state.Completed)
			same(t, wish+": visits of DEPLOY, reminders", []int{0, 1}, []int{len(l.asked("DEPLOY")), len(told[*state.Reminder](l))})
		})
	}
}
