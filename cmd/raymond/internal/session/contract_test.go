//go:build linux

package session_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// TestContractForks: two workers at once in new conversations, while the parent goes
// on in its own; and a message without a tag where one transition alone is allowed.
func TestContractForks(t *testing.T) {
	t.Parallel()
	const workflow = `
-- 1_START.md --
---
allowed_transitions: [{tag: goto, target: SPREAD.md}]
---
Prompt one.
-- SPREAD.md --
---
allowed_transitions: [{tag: fork, target: WORK.md, next: END.md, many: true}]
---
Prompt spread.
-- WORK.md --
Prompt work on {{item}}.
-- END.md --
---
allowed_transitions: [{tag: result, payload: the end}]
---
Prompt end.
`
	const forks = `<fork next="END.md" item="a &amp; b">WORK.md</fork><fork next="END.md" item="c">WORK.md</fork>`
	api := claudetest.NewServer(t,
		claudetest.On("Prompt one.", claudetest.Say("I have no tag.")),
		claudetest.On("Prompt spread.", claudetest.Say(forks)),
		claudetest.On("Prompt work", claudetest.Say("<result>worked</result>")),
		claudetest.On("Prompt end.", claudetest.Say("Nothing to add.")),
	)
	s := newRealSite(t, workflow, api)
	if o := s.Run(0, "--debug-dir", "debug"); o.Stdout != "the end\n" {
		t.Errorf("result: got %v, want %q", o, "the end\n")
	}
	for prompt, want := range map[string]string{
		"Prompt work on a & b.": sitetest.Spoken("Prompt work on a & b.\n"),
		"Prompt work on c.":     sitetest.Spoken("Prompt work on c.\n"),
		"Prompt end.":           sitetest.Spoken("Prompt one.\n", "I have no tag.", "Prompt spread.\n", forks, "Prompt end.\n"),
	} {
		if got := sitetest.Seen(t, api, prompt); got != want {
			t.Errorf("%s: the model saw\n%swant\n%s", prompt, got, want)
		}
	}
	s.wantReportedCosts(5)
}

// TestContractRetriedCallsCost: a call that fails is waited out and asked again in the
// same conversation; what the conversation had cost before is booked once.
func TestContractRetriedCallsCost(t *testing.T) {
	t.Parallel()
	dear := func(text string) claudetest.Reply {
		r := claudetest.Say(text)
		r.Usage = &claudetest.Usage{Input: 50_000, Output: 100}
		return r
	}
	api := claudetest.NewServer(t,
		claudetest.On("Prompt one.", dear("<goto>TWO.md</goto>")),
		// The CLI itself asks once again: the first two are one process.
		claudetest.Rule{Match: "Prompt two.", FailFirst: 2, Fail: claudetest.Fail(500), Steps: []claudetest.Reply{dear("<result>done</result>")}},
	)
	s := newRealSite(t, twoPrompts, api)
	if o := s.Run(0); o.Stdout != "done\n" {
		t.Errorf("result: got %v, want %q", o, "done\n")
	}
	if list := sitetest.Bodies[*state.Retry](s.Events()); len(list) != 1 || !list[0].Service {
		t.Errorf("retries: got %+v, want one, of the service", list)
	}
	run := s.Saved()
	if first := run.Ledger[0]; first.Kind != state.Exact || first.CostUSD == 0 || run.Progress.TotalUSD != 2*first.CostUSD || run.Spent().Estimated {
		t.Errorf("cost: got $%s in all and %+v, want twice the first", run.Progress.TotalUSD, run.Ledger)
	}
	want := sitetest.Spoken("Prompt one.\n", "<goto>TWO.md</goto>", "Prompt two.\n")
	if got := sitetest.Seen(t, api, "Prompt two."); got != want {
		t.Errorf("at last the model saw\n%swant\n%s", got, want)
	}
}
