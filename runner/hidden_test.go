package runner_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// TestSecretsAreHiddenBeforeLinesAreCut: nobody would find the half of one afterwards.
func TestSecretsAreHiddenBeforeLinesAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "<result>x</result>"}, nil)
		l.cfg.Telling = runner.TellAll
		l.cfg.Redact = func(text string) string { return strings.ReplaceAll(text, "the secret", "***") }
		l.babble = func(tell func(runner.Progress), _ int) {
			tell(runner.Progress{Text: strings.Repeat("x", 1996) + "the secret"})
		}
		l.drive(false, state.Completed)
		var said []string
		for _, o := range told[*state.AgentOutput](l) {
			said = append(said, o.Text[max(0, len(o.Text)-10):])
		}
		same(t, "ends of what was said", []string{"xxxxxxx***"}, said)
	})
}
