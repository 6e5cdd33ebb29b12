//go:build linux

package session_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/codex/codextest"
	"github.com/raymond-action/raymond-action/runner/gemini/geminitest"
	"github.com/raymond-action/raymond-action/state"
)

// TestTokensOfVendorsArePriced: with the real CLIs that tell no dollars, a run costs exactly
// what the tokens of its API calls cost by the file of prices, although Codex counts on over a
// conversation. The budget holds, and a resume continues with the same prices.
func TestTokensOfVendorsArePriced(t *testing.T) {
	const workflow = `
-- 1_START.md --
Prompt one.
-- TWO.md --
Prompt two.
-- THREE.md --
Prompt three.
`
	for _, v := range []agenttest.Vendor{codextest.Vendor{}, geminitest.Vendor{}} {
		t.Run(v.Name(), func(t *testing.T) {
			t.Parallel()
			path := v.Install(t)
			url := v.Serve(t, func(a agenttest.Asked) agenttest.Reply {
				r := agenttest.Reply{Text: "<result>done</result>", Input: 1000, Cached: 100, Output: 10}
				switch last := a.Last(); {
				case strings.Contains(last, "Prompt one."):
					r.Text = "<goto>TWO.md</goto>"
				case strings.Contains(last, "Prompt two."):
					r.Text = "<reset>THREE.md</reset>"
				}
				return r
			})
			s := &site{sitetest.New(t, workflow)}
			s.Env = append(v.Environ(url, t.TempDir()), "TMPDIR="+t.TempDir(), "SIDE_EFFECTS="+s.SideEffects())
			s.Sign()
			model := map[string]string{"codex": "gpt-5.5", "gemini": "gemini-2.5-pro"}[v.Name()]
			prices := filepath.Join(s.Work, "prices.yaml")
			s.Write(prices, "prices: {"+model+": {input: 100, cached_input: 10, output: 1000}}\n")
			flags := append(v.Flags(path), "--model", model, "--prices", prices)

			s.Run(3, append(flags, "--budget", "0.15")...)
			each := 1000*state.Dollar/10_000 + 100*state.Dollar/100_000 + 10*state.Dollar/1000
			run := s.Saved()
			if got, want := run.Spent(), (state.Spent{USD: 2 * each}); got != want {
				t.Errorf("over the budget of $0.15: got %s, want %s of two invocations", got.Exactly(), want.Exactly())
			}
			s.Resume(0, append(v.Flags(path), "--budget", "10")...)
			run = s.Saved()
			if got, want := run.Spent(), (state.Spent{USD: 3 * each}); got != want {
				t.Errorf("resumed: got %s, want %s of three invocations: %+v", got.Exactly(), want.Exactly(), run.Ledger)
			}
			for _, b := range sitetest.Bodies[*state.StateFinished](s.Events()) {
				if want := (state.Tokens{Input: 1000, Cached: 100, Output: 10}); b.Tokens == nil || *b.Tokens != want {
					t.Errorf("tokens of a state: got %+v, want %+v", b.Tokens, want)
				}
			}
		})
	}
}
