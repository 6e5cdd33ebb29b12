//go:build linux

package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// conversations is a workflow in which each tag leads to a prompt. The replies of
// conversationAPI walk through it.
const conversations = `
-- 1_START.md --
Prompt one.
-- TWO.md --
Prompt two.
-- ASIDE.md --
Prompt aside.
-- BACK.md --
Prompt back with {{result}}.
-- PURE.md --
Prompt pure.
-- AGAIN.md --
Prompt again with {{result}}.
-- FRESH.md --
---
allowed_transitions: [{tag: result}, {tag: goto, target: TWO.md}]
---
Prompt fresh.
`

func conversationAPI(t testing.TB) *claudetest.Server {
	t.Helper()
	return claudetest.NewServer(t,
		claudetest.On("Prompt one.", claudetest.Say("<goto>TWO.md</goto>")),
		claudetest.On("Prompt two.", claudetest.Say("<call return=\"BACK.md\">ASIDE.md</call>")),
		claudetest.On("Prompt aside.", claudetest.Say("<result>an aside</result>")),
		claudetest.On("Prompt back", claudetest.Say("<function return=\"AGAIN.md\">PURE.md</function>")),
		claudetest.On("Prompt pure.", claudetest.Say("<result>a pure thing</result>")),
		claudetest.On("Prompt again", claudetest.Say("<reset>FRESH.md</reset>")),
		claudetest.On("Prompt fresh.", claudetest.Say("Hm.")),
		claudetest.On("exactly one tag", claudetest.Say("<result>all said</result>")),
	)
}

// TestContractTags holds the table of tags in the language page: what
// the model sees in each state.
func TestContractTags(t *testing.T) {
	t.Parallel()
	api := conversationAPI(t)
	s := newRealSite(t, conversations, api)
	s.Run(3, "--max-iterations", "2", "--debug-dir", "debug")
	s.wantCallerUntouched()
	if o := s.Resume(0, "--max-iterations", "100", "--debug-dir", "debug"); o.Stdout != "all said\n" {
		t.Errorf("result: got %q, want %q", o.Stdout, "all said\n")
	}
	one := []string{"Prompt one.\n", "<goto>TWO.md</goto>"}
	two := append(one[:2:2], "Prompt two.\n", "<call return=\"BACK.md\">ASIDE.md</call>")
	back := append(two[:4:4], "Prompt back with an aside.\n", "<function return=\"AGAIN.md\">PURE.md</function>")
	for prompt, want := range map[string]string{
		"Prompt one":   sitetest.Spoken(one[:1]...),
		"Prompt two":   sitetest.Spoken(two[:3]...),
		"Prompt aside": sitetest.Spoken(append(two, "Prompt aside.\n")...),
		"Prompt back":  sitetest.Spoken(back[:5]...),
		"Prompt pure":  sitetest.Spoken("Prompt pure.\n"),
		"Prompt again": sitetest.Spoken(append(back, "Prompt again with a pure thing.\n")...),
		"Prompt fresh": sitetest.Spoken("Prompt fresh.\n"),
	} {
		if got := sitetest.Seen(t, api, prompt); got != want {
			t.Errorf("%s: the model saw\n%swant\n%s", prompt, got, want)
		}
	}
	if got := api.Last(t).Conversation(); !strings.HasPrefix(got, sitetest.Spoken("Prompt fresh.\n", "Hm.")+"user: Your last message") {
		t.Errorf("reminder: the model saw\n%swant it in the session of the state", got)
	}
	s.wantReportedCosts(8)
}

// wantCallerUntouched runs the callee alone: no byte of the caller's transcript
// changes.
func (s *site) wantCallerUntouched() {
	s.T.Helper()
	before := s.transcript(s.Saved().Agents[0].Session.ID)
	s.Resume(3, "--max-iterations", "3", "--debug-dir", "debug")
	main := s.Saved().Agents[0]
	if main.State != "BACK.md" || main.Payload != "an aside" {
		s.T.Fatalf("after the callee: got the agent at %s with payload %q, want BACK.md and %q", main.State, main.Payload, "an aside")
	}
	if d := cmp.Diff(before, s.transcript(main.Session.ID)); d != "" {
		s.T.Errorf("transcript of the caller (-before +after the callee):\n%s", d)
	}
}

// transcript returns what the agent CLI keeps of a session.
func (s *site) transcript(session string) string {
	s.T.Helper()
	var home string
	for _, kv := range s.Env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = v
		}
	}
	found, err := filepath.Glob(filepath.Join(home, ".claude", "projects", "*", session+".jsonl"))
	if err != nil || len(found) != 1 {
		s.T.Fatalf("transcripts of session %s: got %q (%v), want one", session, found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		s.T.Fatal(err)
	}
	return string(data)
}

// wantReportedCosts checks that the ledger has n entries and in them what the
// agent CLI said, to the last digit.
func (s *site) wantReportedCosts(n int) {
	s.T.Helper()
	reported, err := filepath.Glob(s.File("debug/*/stdout*.jsonl"))
	if err != nil || len(reported) != n {
		s.T.Fatalf("recorded outputs: got %q (%v), want %d", reported, err, n)
	}
	want, least := map[string]state.USD{}, state.MostUSD
	for _, path := range reported {
		session, cost := s.reportedCost(path)
		want[session], least = want[session]+cost, min(least, cost)
	}
	got, run := map[string]state.USD{}, s.Saved()
	if claudetest.Since(s.T, "2.1.277") && !claudetest.Since(s.T, "2.1.279") {
		// These count over a conversation and tell no share: each of these processes
		// asks the same, so each costs what the first of a conversation does.
		clear(want)
		for _, e := range run.Ledger {
			want[e.Session] += least
		}
	}
	for _, e := range run.Ledger {
		if e.Kind != state.Exact || e.CostUSD == 0 {
			s.T.Errorf("ledger: got %+v, want an exact cost above 0", e)
		}
		got[e.Session] += e.CostUSD
	}
	if d := cmp.Diff(want, got); d != "" {
		s.T.Errorf("cost by session (-reported +ledger):\n%s", d)
	}
	if len(run.Ledger) != n {
		s.T.Errorf("ledger: got %d entries, want %d", len(run.Ledger), n)
	}
}

// reportedCost reads the cost that the agent CLI gave in a recorded output.
func (s *site) reportedCost(path string) (session string, cost state.USD) {
	s.T.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		s.T.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var r struct {
			Type      string
			SessionID string      `json:"session_id"`
			Cost      json.Number `json:"total_cost_usd"`
			// Share is of the process, in versions whose total goes on counting.
			Share map[string]struct{ CostUSD json.Number } `json:"model_usage_since_last_result"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Type != "result" {
			continue
		}
		if cost, err = state.ParseUSD(string(r.Cost)); err != nil {
			s.T.Fatalf("%s: cost %q: %v", path, r.Cost, err)
		}
		if len(r.Share) > 0 {
			cost = 0
		}
		for _, share := range r.Share {
			usd, err := state.ParseUSD(string(share.CostUSD))
			if err != nil {
				s.T.Fatalf("%s: share %q: %v", path, share.CostUSD, err)
			}
			cost += usd
		}
		session = r.SessionID
	}
	return session, cost
}

// TestContractModelOfEachState holds the model rules: the function tag's wins over the
// state's, the state's over the run's, and a session goes back to the model that
// it began with.
func TestContractModelOfEachState(t *testing.T) {
	t.Parallel()
	const workflow = `
-- 1_START.md --
Prompt one.
-- TWO.md --
---
model: haiku
---
Prompt two.
-- BACK.md --
Prompt back.
-- PURE.md --
---
model: haiku
---
Prompt pure.
-- AGAIN.md --
Prompt again.
`
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"with a model for the run", []string{"--model", "sonnet"}, []string{"sonnet", "haiku", "sonnet", "sonnet", "sonnet"}},
		{"without one", nil, []string{"opus", "haiku", "opus", "sonnet", "opus"}},
	}[:sitetest.Dose(1, 2)] {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			api := claudetest.NewServer(t,
				claudetest.On("Prompt one.", claudetest.Say("<goto>TWO.md</goto>")),
				claudetest.On("Prompt two.", claudetest.Say("<goto>BACK.md</goto>")),
				claudetest.On("Prompt back.", claudetest.Say("<function return=\"AGAIN.md\" model=\"sonnet\">PURE.md</function>")),
				claudetest.On("Prompt pure.", claudetest.Say("<result>pure</result>")),
				claudetest.On("Prompt again.", claudetest.Say("<result>done</result>")),
			)
			newRealSite(t, workflow, api).Run(0, c.args...)
			var got []string
			for _, q := range api.Requests() {
				got = append(got, family(q.Model))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("models asked for (-want +got):\n%s", d)
			}
		})
	}
}

// family is the part of a model's name that says which kind it is.
func family(model string) string {
	parts := strings.Split(model, "-")
	return parts[min(1, len(parts)-1)]
}

// twoPrompts is a workflow of two states in one session.
const twoPrompts = `
-- 1_START.md --
Prompt one.
-- TWO.md --
Prompt two.
`

// TestContractOverBudgetEndsAndResumesWithMore lets one reply cost more than the run may.
// The agent CLI then ends at its cap, and its session continues with more money.
func TestContractOverBudgetEndsAndResumesWithMore(t *testing.T) {
	t.Parallel()
	dear := claudetest.Say("Let me think.")
	dear.Usage = &claudetest.Usage{Input: 1000, Output: 20_000} // half a dollar of the default model
	api := claudetest.NewServer(t,
		claudetest.On("Prompt one.", dear),
		claudetest.On("ended early", claudetest.Say("<goto>TWO.md</goto>")),
		claudetest.On("Prompt two.", claudetest.Say("<result>done</result>")),
	)
	s := newRealSite(t, twoPrompts, api)
	o := s.Run(3, "--budget", "0.05")
	run := s.Saved()
	if total := run.Progress.TotalUSD; run.Progress.Status != state.OverBudget || total <= state.Dollar/20 ||
		!strings.Contains(o.Stderr, "over_limit") || !strings.Contains(o.Stderr, "0.05") || !strings.Contains(o.Stderr, total.String()) {
		t.Errorf("over the budget: got status %s, a total of $%s and %v\nwant over_budget, limit and total in the message",
			run.Progress.Status, total, o)
	}
	if s.Resume(3); len(api.Requests()) != 1 {
		t.Errorf("resume without more: got %d requests in all, want 1", len(api.Requests()))
	}
	if o := s.Resume(0, "--budget", "5"); o.Stdout != "done\n" {
		t.Errorf("resume with more: got %v, want the result", o)
	}
	if got := sitetest.Seen(t, api, "Prompt two."); !strings.HasPrefix(got, sitetest.Spoken("Prompt one.\n", "Let me think.")) {
		t.Errorf("after the resume the model saw\n%swant it to continue in its session", got)
	}
}

func TestContractUsageLimitSuspendsUntilItsReset(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(3 * time.Hour).Truncate(time.Second)
	limit := claudetest.Fail(429)
	limit.Header = map[string]string{
		"anthropic-ratelimit-unified-status":               "rejected",
		"anthropic-ratelimit-unified-reset":                strconv.FormatInt(reset.Unix(), 10),
		"anthropic-ratelimit-unified-representative-claim": "five_hour",
	}
	api := claudetest.NewServer(t,
		claudetest.On("Prompt one.", claudetest.Say("<goto>TWO.md</goto>")),
		claudetest.Rule{Match: "Prompt two.", FailFirst: 1, Fail: limit, Steps: []claudetest.Reply{claudetest.Say("<result>done</result>")}},
	)
	s := newRealSite(t, twoPrompts, api)
	s.Env = append(s.Env, "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-claudetest")
	s.Env = slices.DeleteFunc(s.Env, func(kv string) bool { return strings.HasPrefix(kv, "ANTHROPIC_API_KEY=") })
	o := s.Run(10)
	if want := reset.UTC().Format("15:04"); !strings.Contains(o.Stderr, want) || !s.Saved().Progress.Until.Equal(reset) {
		t.Errorf("usage limit: got %v\nuntil %v, want %v told and saved", o, s.Saved().Progress.Until, reset)
	}
	s.Resume(0)
	want := sitetest.Spoken("Prompt one.\n", "<goto>TWO.md</goto>", "Prompt two.\n")
	if got := sitetest.Seen(t, api, "Prompt two."); got != want {
		t.Errorf("after the resume the model saw\n%swant\n%s", got, want)
	}
}

func TestContractAuthenticationFailsAtOnce(t *testing.T) {
	t.Parallel()
	for status, how := range map[int]string{401: "Invalid API key", 403: "Failed to authenticate"} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			api := claudetest.NewServer(t, claudetest.Rule{FailFirst: 1000, Fail: claudetest.Fail(status)})
			s := newRealSite(t, twoPrompts, api)
			o := s.Run(1)
			if !strings.Contains(o.Stderr, "run_failed") || !strings.Contains(o.Stderr, "authentication") {
				t.Errorf("status %d: got %v\nwant a failed run that names authentication (%s)", status, o, how)
			}
			if n := len(sitetest.Bodies[*state.Retry](s.Events())); n > 0 || len(api.Requests()) > 2 { // the CLI itself may try twice
				t.Errorf("status %d: got %d retries and %d requests, want no retry", status, n, len(api.Requests()))
			}
		})
	}
}

func TestMissingAgentCLIIsNamedWithItsCure(t *testing.T) {
	t.Parallel()
	s := newSite(t, twoPrompts)
	missing := filepath.Join(t.TempDir(), "no-such-claude")
	o := s.Run(9, "--claude", missing)
	for _, want := range []string{"raymond: runtime: ", missing, "npm install -g @anthropic-ai/claude-code"} {
		if !strings.Contains(o.Stderr, want) {
			t.Errorf("stderr: got %s\nwant %q in it", o.Stderr, want)
		}
	}
}

func TestScriptsNeedNoAgentCLI(t *testing.T) {
	t.Parallel()
	s := newSite(t, `
-- 1_START.sh --
echo "<goto input='from here'>END.sh</goto>"
-- END.sh --
echo "<result>$RAYMOND_INPUT</result>"
-- NEVER.md --
Nobody comes here.
`)
	s.Env = append(s.Env, "RAYMOND_CLAUDE=/nowhere/claude", "PATH=/usr/bin:/bin")
	if o := s.Run(0); o.Stdout != "from here\n" {
		t.Errorf("result: got %v, want %q", o, "from here\n")
	}
}
