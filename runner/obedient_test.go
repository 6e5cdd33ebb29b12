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
	for _, policy := range []string{
		"allowed_transitions:\n  - {tag: goto, target: B}\n  - {tag: result}\n", "allowed_targets: [B]\nallowed_tags: [goto]\n",
	} {
		for _, wish := range []string{"<goto>DEPLOY</goto>", "<call return=\"B\">DEPLOY</call>", "<fork next=\"B\">DEPLOY</fork>", "<reset>DEPLOY</reset>", "<goto>../DEPLOY.md</goto>"} {
			synctest.Test(t, func(t *testing.T) {
				l := newLoop(t, flow{
					"A": "---\n" + policy + "---\nDo: {{input}}\n<goto>B</goto>", "B": "<result>b</result>", "DEPLOY": "<result>deployed</result>",
				}, nil)
				l.run.Agents[0].Payload = state.Text(wish)
				l.cfg.Agents = claudeOnly(runner.Through(l.cast, obedient{l.cast}))
				if err := runner.New(l.cfg, l.run).Run(t.Context(), false, nil); err != nil {
					t.Fatal(err)
				}
				if got := l.asked("DEPLOY"); len(got) > 0 || len(told[*state.Reminder](l)) == 0 {
					t.Errorf("%s under %q: got %d visits of DEPLOY and %d reminders, want none and some", wish, policy, len(got), len(told[*state.Reminder](l)))
				}
			})
		}
	}
}
