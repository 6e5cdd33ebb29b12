package claude

import (
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// TestRecordedShares: three equal calls (a new conversation, the same resumed, a
// branch of it), as versions of the CLI reported them, are booked with the same.
func TestRecordedShares(t *testing.T) {
	for _, version := range []string{"2.1.276", "2.1.278", "2.1.330"} {
		ar, err := txtar.ParseFile("testdata/shares/" + version + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		reached := state.Reached{}
		for i, call := range []string{"fresh", "resume", "fork"} {
			o := runner.Order{Prompt: runner.PromptOrder{SessionID: chosen, Session: []state.SessionMode{state.Fresh, state.Resume, state.Branch}[i]}}
			if call == "fork" {
				o.Prompt.From, o.Prompt.SessionID = chosen, "22222222-2222-4222-8222-222222222222"
			}
			s := newStream(o, nil)
			before := reached
			s.costs.prior = priorCount{known: &before}
			s.Write(part(ar, call))
			got := s.costs.total()
			if got.Reached != nil {
				reached = *got.Reached
			}
			const want = 21 * state.Dollar / 100
			if got.Kind != state.Exact || got.USD != want || len(got.Usage) != 1 || got.Usage[0].CostUSD != want || got.Usage[0].Input != 100_000 ||
				s.verdict.early != nil || s.unread > 0 {
				t.Errorf("%s, %s: got %+v, fault %v, want $%s for 100000 tokens", version, call, got, s.verdict.early, state.USD(want))
			}
		}
	}
}
