//go:build linux

package session_test

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// The tests of this file cut answers of the real CLI off. What an answer had begun
// with is paid for.

// two prompts in one conversation, the second of which is to be cut off.
const cutFlow = `
-- START.md --
Prompt one.
-- TWO.md --
Prompt two.
`

// cutInput is the input of the answer that is cut off, in tokens.
const cutInput = 200_000

// cutAPI answers the first prompt, and hangs in the middle of the answers to the
// second, as often as it is said.
func cutAPI(t testing.TB, times int) *claudetest.Server {
	t.Helper()
	hangs := claudetest.Say("I begin with it and am not yet done")
	hangs.Usage, hangs.Hang = &claudetest.Usage{Input: cutInput, Output: 500}, claudetest.Middle
	return claudetest.NewServer(t,
		claudetest.On("Prompt one.", claudetest.Say("<goto>TWO.md</goto>")),
		claudetest.Rule{Match: "Prompt two.", FailFirst: times, Fail: hangs, Sequence: []claudetest.Reply{claudetest.Say("<result>done</result>")}},
	)
}

// cutInMiddle starts raymond, and returns when the state has noted what the answer that
// hangs began with.
func (s *site) cutInMiddle(args ...string) *sitetest.Command {
	s.T.Helper()
	j := s.Start(args...)
	j.Until("what the message began with, in the state", func() bool {
		if !sitetest.Exists(s.StateFile()) {
			return false
		}
		for _, a := range s.Saved().Agents {
			if a.Exec == nil || a.Exec.Running == nil {
				continue
			}
			for _, u := range a.Exec.Running.Metered {
				if u.Input >= cutInput {
					return true
				}
			}
		}
		return false
	})
	return j
}

// inputOf is how many tokens of input an entry of the ledger has.
func inputOf(e state.Entry) (sum int64) {
	for _, m := range e.Models {
		sum += m.Input
	}
	return sum
}

// wantCutBooked checks that so many answers that were cut off are in the ledger,
// once each, with what they began with, and how that is shown.
func (s *site) wantCutBooked(times int) {
	s.T.Helper()
	run := s.Saved()
	input, estimated := int64(0), false
	for _, e := range run.Ledger {
		input += inputOf(e)
		estimated = estimated || e.Kind == state.Estimated
	}
	if input < int64(times*cutInput) || input > int64(times*cutInput)+1000 || !estimated {
		s.T.Errorf("ledger: got %d tokens of input in %+v, want %d for what was cut off, estimated", input, run.Ledger, times*cutInput)
	}
	var shown struct {
		Cost      float64 `json:"cost_usd"`
		Estimated bool    `json:"cost_estimated"`
	}
	told := s.Raymond(0, "status", sitetest.RunID, "--json")
	if err := json.Unmarshal([]byte(told.Stdout), &shown); err != nil || !shown.Estimated || shown.Cost != run.Progress.TotalUSD.Float() {
		s.T.Errorf("status --json: got %+v, %v, want %s, estimated", shown, err, run.Progress.TotalUSD)
	}
	if o := s.Raymond(0, "status", sitetest.RunID); !strings.Contains(o.Stdout, "~"+run.Progress.TotalUSD.Dollars()) {
		s.T.Errorf("status: got %s, want ~%s", o.Stdout, run.Progress.TotalUSD.Dollars())
	}
}

// wantResumed checks a resumed run's end: the cut prompts are asked once more each,
// and of what was cut off the model sees nothing.
func (s *site) wantResumed(api *claudetest.Server, o sitetest.Outcome, requests int) {
	s.T.Helper()
	if o.Stdout != "done\n" {
		s.T.Errorf("resume: got %v, want the result", o)
	}
	if got := len(api.Requests()); got != requests {
		s.T.Errorf("requests: got %d, want %d", got, requests)
	}
	want := sitetest.Spoken("Prompt one.\n", "<goto>TWO.md</goto>", "Prompt two.\n")
	if got := sitetest.InterruptionNote.ReplaceAllString(sitetest.Seen(s.T, api, "Prompt two."), ""); got != want {
		s.T.Errorf("after the resume the model saw\n%swant\n%s", got, want)
	}
}

// TestAnswersOutOfTimeAreBooked: those that are cut off by a limit of time. How long
// the CLI needs to begin depends on the machine: the limit grows until the second answer is the
// one that is cut off, and is booked.
func TestAnswersOutOfTimeAreBooked(t *testing.T) {
	t.Parallel()
	for _, cut := range []struct {
		name  string
		code  int
		args  []string
		again string // in the resume
	}{
		{"deadline", 10, []string{"--grace", "100ms", "--deadline"}, "--deadline=0"},
		{"timeout", 1, []string{"--max-retries", "0", "--timeout"}, "--timeout=0"},
	}[:sitetest.Dose(1, 2)] {
		t.Run(cut.name, func(t *testing.T) {
			t.Parallel()
			for limit := 5 * time.Second; ; limit *= 2 {
				api := cutAPI(t, 1)
				s := newRealSite(t, cutFlow, api)
				s.Run(cut.code, append(cut.args, limit.String())...)
				isCut := func(e state.Entry) bool { return inputOf(e) >= cutInput }
				if limit < sitetest.Patience && !slices.ContainsFunc(s.Saved().Ledger, isCut) {
					continue
				}
				s.wantResumed(api, s.Resume(0, cut.again), 3)
				s.wantCutBooked(1)
				return
			}
		})
	}
}

// TestContractBudgetCountsWhatWasCutOff: two answers that are cut off by a cancel and a kill
// pass a budget that no answer passed; a larger one resumes it, with one request.
func TestContractBudgetCountsWhatWasCutOff(t *testing.T) {
	t.Parallel()
	api := cutAPI(t, 2)
	s := newRealSite(t, cutFlow, api)
	j := s.cutInMiddle(s.RunArgs("--budget", "0.7", "--model", "sonnet")...)
	j.Signal(syscall.SIGINT)
	if o := j.Wait(); o.Code != 130 {
		t.Fatalf("cancelled: got %v", o)
	}
	j = s.cutInMiddle("resume", sitetest.RunID)
	j.Signal(syscall.SIGKILL)
	j.Wait()
	o := s.Resume(3)
	run := s.Saved()
	if run.Progress.Status != state.OverBudget || len(api.Requests()) != 3 || !strings.Contains(o.Stderr, "~"+run.Progress.TotalUSD.Dollars()) {
		t.Errorf("resumed: got status %s, %d requests, %v\nwant over_budget without any further request, and ~%s",
			run.Progress.Status, len(api.Requests()), o, run.Progress.TotalUSD.Dollars())
	}
	s.wantCutBooked(2)
	s.wantResumed(api, s.Resume(0, "--budget", "20"), 4)
}
