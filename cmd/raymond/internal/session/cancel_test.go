//go:build linux

package session_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// mostTurns is how many turns of 50 ms a script may have between a signal and the end of its
// run, which is to come within 5 s. It counts them itself: on a busy machine it is slower, too.
const mostTurns = 200

// stubborn is a workflow whose second state runs until it is killed, unless there
// is a file "go". It writes a line to "turns" now and then.
const stubborn = `
-- 1_START.md --
log: start
reply:
<goto input="kept">STAY.sh</goto>
end.
-- STAY.sh --
if [ -e go ]; then echo "<result>$RAYMOND_INPUT</result>"; exit; fi
trap '' INT TERM
touch staying
while :; do echo >>turns; sleep 0.05; done
`

// polite is the same with a script that ends when it is asked to.
var polite = strings.ReplaceAll(stubborn, "trap '' INT TERM\n", "")

// TestCancelKeepsEverythingAndLeavesNothing holds what a cancel promises, for
// what ends at once and for what does not.
func TestCancelKeepsEverythingAndLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		workflow string
		signal   syscall.Signal
		code     int
	}{
		"SIGINT":                     {polite, syscall.SIGINT, 130},
		"SIGTERM":                    {polite, syscall.SIGTERM, 143},
		"SIGTERM, script ignores it": {stubborn, syscall.SIGTERM, 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.workflow)
			j := s.Start(s.RunArgs()...)
			j.Until("the script", func() bool { return sitetest.Exists(s.File("staying")) })
			s.wantCancelled(j, c.signal, c.code, "STAY.sh")
			if run := s.Saved(); run.Progress.TotalUSD != state.Dollar/100 {
				t.Errorf("cost: got $%s, want the $0.01 that the first state has cost", run.Progress.TotalUSD)
			}
			s.Write(s.File("go"), "")
			if o := s.Resume(0); o.Stdout != "kept\n" {
				t.Errorf("resume: got %v, want %q", o, "kept\n")
			}
		})
	}
}

// TestContractCancelWhileAToolRuns has the real CLI, and a tool that would run on.
func TestContractCancelWhileAToolRuns(t *testing.T) {
	t.Parallel()
	api := claudetest.NewServer(t,
		claudetest.On("Prompt one.", claudetest.Say("<goto>TWO.md</goto>")),
		claudetest.Rule{Match: "Prompt two.", FailFirst: 1, Fail: claudetest.Do(claudetest.Bash("touch staying; while :; do echo >>turns; sleep 0.05; done")),
			Steps: []claudetest.Reply{claudetest.Say("<result>done</result>")}},
	)
	s := newRealSite(t, twoPrompts, api)
	j := s.Start(s.RunArgs("--allowed-tools", "Bash")...)
	j.Until("the tool", func() bool { return sitetest.Exists(s.File("staying")) })
	s.wantCancelled(j, syscall.SIGINT, 130, "TWO.md")
	first := s.Saved().Ledger[0]
	if first.Kind != state.Exact || first.CostUSD == 0 || s.Saved().Progress.TotalUSD < first.CostUSD {
		t.Errorf("cost: got $%s and %+v for the first state, want that kept", s.Saved().Progress.TotalUSD, first)
	}
	if o := s.Resume(0); o.Stdout != "done\n" {
		t.Errorf("resume: got %v, want %q", o, "done\n")
	}
	want := sitetest.Spoken("Prompt one.\n", "<goto>TWO.md</goto>", "Prompt two.\n")
	if got := sitetest.InterruptionNote.ReplaceAllString(sitetest.Seen(t, api, "Prompt two."), ""); got != want {
		t.Errorf("after the resume the model saw\n%swant\n%s", got, want)
	}
}

// wantCancelled sends the signal and checks how soon and how well the run ends.
func (s *site) wantCancelled(j *sitetest.Command, sig syscall.Signal, code int, at string) {
	s.T.Helper()
	before := len(s.Lines("turns"))
	j.Signal(sig)
	o := j.Wait()
	if turns := len(s.Lines("turns")) - before; turns > mostTurns {
		s.T.Errorf("end: got %d turns of 50 ms before it, want at most %d", turns, mostTurns)
	}
	if o.Code != code || !strings.Contains(o.Stderr, "raymond: cancelled: ") || !strings.Contains(o.Stderr, "raymond resume "+sitetest.RunID) {
		s.T.Errorf("end: got %v\nwant exit code %d and how to resume", o, code)
	}
	if left := s.Processes(); len(left) > 0 {
		s.T.Errorf("processes after the end: got %v, want none", sitetest.Describe(left))
	}
	if run := s.Saved(); run.Progress.Status != state.Cancelled || !s.snapshotAt(at) {
		s.T.Errorf("saved run: got status %s, want cancelled, and all of it in one file", run.Progress.Status)
	}
}

// snapshotAt says whether the state file alone has the first agent in a state.
func (s *site) snapshotAt(at string) bool {
	s.T.Helper()
	data, err := os.ReadFile(s.StateFile())
	if err != nil {
		s.T.Fatal(err)
	}
	run, err := state.Decode(data)
	if err != nil {
		s.T.Fatal(err)
	}
	return run.Agents[0].State == at
}

// TestSecondSignalGivesNoGrace cancels twice: a script that would have been given
// three seconds is ended at once.
func TestSecondSignalGivesNoGrace(t *testing.T) {
	t.Parallel()
	s := newSite(t, polite)
	j := s.Start(s.RunArgs()...)
	j.Until("the script", func() bool { return sitetest.Exists(s.File("staying")) })
	j.Signal(syscall.SIGTERM)
	j.Until("the first signal's effect", func() bool { return s.snapshotAt("STAY.sh") })
	before := len(s.Lines("turns"))
	_ = j.Cmd.Process.Signal(syscall.SIGINT) // the three seconds may be over
	// A bash whose sleep just ends does not take SIGINT for its own, and gets SIGTERM after two seconds.
	if o, turns := j.Wait(), len(s.Lines("turns"))-before; o.Code != 143 || turns > 50 {
		t.Errorf("end after two signals: got %v, %d turns of 50 ms after the second\nwant exit code 143, and less than 3 s", o, turns)
	}
}

// TestDeadlineSuspends ends what is in flight when the grace is used up.
func TestDeadlineSuspends(t *testing.T) {
	t.Parallel()
	s := newSite(t, polite)
	o := s.Run(10, "--deadline", "1s", "--grace", "100ms")
	run := s.Saved()
	if run.Progress.Status != state.Suspended || !strings.Contains(o.Stderr, "deadline") || !strings.Contains(o.Stderr, "raymond resume "+sitetest.RunID) {
		t.Errorf("at the deadline: got status %s and %v\nwant suspended, why, and how to resume", run.Progress.Status, o)
	}
	s.Write(s.File("go"), "")
	if o := s.Resume(0); o.Stdout != "kept\n" {
		t.Errorf("resume: got %v, want %q", o, "kept\n")
	}
	if n := len(sitetest.Bodies[*state.Retry](s.Events())); n > 0 {
		t.Errorf("retries: got %d, want none", n)
	}
}

// TestDeadlineLetsStatesFinishInTheirGrace keeps what is done in time. The deadline grows until
// a state is in flight when it comes.
func TestDeadlineLetsStatesFinishInTheirGrace(t *testing.T) {
	t.Parallel()
	for deadline := 100 * time.Millisecond; ; deadline *= 2 {
		s := newSite(t, `
-- 1_START.sh --
until [ -e go ]; do sleep 0.05; done
echo '<goto>AFTER.sh</goto>'
-- AFTER.sh --
echo '<result>after</result>'
`)
		j := s.Start(s.RunArgs("--deadline", deadline.String(), "--grace", "10m")...)
		j.Until("the deadline", has[*state.Limit](s, ""))
		s.Write(s.File("go"), "")
		o := j.Wait()
		if deadline < sitetest.Patience && !has[*state.StateStarted](s, "")() {
			continue
		}
		if o.Code != 10 || s.Saved().Agents[0].State != "AFTER.sh" {
			t.Errorf("end: got %v at %s, want exit code 10 at AFTER.sh", o, s.Saved().Agents[0].State)
		}
		if o := s.Resume(0); o.Stdout != "after\n" {
			t.Errorf("resume: got %v, want %q", o, "after\n")
		}
		return
	}
}

// TestFailedAgentNeverExitsWithZero has each way in which an agent can fail.
func TestFailedAgentNeverExitsWithZero(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state, body string // the failing state
		says        string
	}{
		"script exits with 3":         {"BAD.sh", "echo '<result>x</result>'; echo why >&2; exit 3", "exit code 3"},
		"script is killed":            {"BAD.sh", "kill -9 $$", "SIGKILL"},
		"script without a tag":        {"BAD.sh", "echo nothing", "no transition tag"},
		"script with two tags":        {"BAD.sh", "echo '<result>x</result><result>y</result>'", "2 transition tags"},
		"script to a missing state":   {"BAD.sh", "echo \"<goto>$(echo GONE.sh)</goto>\"", "GONE.sh"},
		"script to a missing folder":  {"BAD.sh", "echo '<reset cd=\"no-such-folder\">1_START.sh</reset>'", "no-such-folder"},
		"prompt without a tag":        {"BAD.md", "reply:\nnothing\nend.", "no transition tag"},
		"prompt with two tags":        {"BAD.md", "reply:\n<result>x</result><result>y</result>\nend.", "2 transition tags"},
		"prompt to a missing state":   {"BAD.md", "reply:\n<goto>{{input}}</goto>\nend.", "GONE.sh"},
		"agent CLI that always fails": {"BAD.md", "fail:", "exit code 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "-- 1_START.sh --\necho '<goto input=\"GONE.sh\">"+c.state+"</goto>'\n-- "+c.state+" --\n"+c.body+"\n")
			o := s.Run(1, "--max-retries", "0", "--max-reminders", "1")
			for _, want := range []string{"raymond: run_failed: ", "main", c.says} {
				if !strings.Contains(o.Stderr, want) {
					t.Errorf("%s: stderr: got %s\nwant %q in it", c.body, o.Stderr, want)
				}
			}
			if o.Stdout != "" || s.Saved().Progress.Status != state.Failed {
				t.Errorf("%s: got status %s and stdout %q, want failed and nothing", c.body, s.Saved().Progress.Status, o.Stdout)
			}
		})
	}
}

// TestFailedWorkerFailsTheRun keeps a failed agent from being overlooked beside
// one that has a result.
func TestFailedWorkerFailsTheRun(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--keep-going"}, {"--max-parallel", "1", "--keep-going"}} {
		s := newSite(t, `
-- 1_START.sh --
echo '<fork next="END.sh">BAD.sh</fork>'
-- BAD.sh --
exit 3
-- END.sh --
echo '<result>fine</result>'
`)
		o := s.Run(1, args...)
		if !strings.Contains(o.Stderr, "BAD.sh") || !strings.Contains(o.Stderr, "main_bad1") || o.Stdout != "" {
			t.Errorf("%q: got %v\nwant the failed state and agent, and no result", args, o)
		}
	}
}
