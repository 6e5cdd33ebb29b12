//go:build linux

package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// killed is a workflow with a tool, a call, a fork with attributes and a script,
// in which the agents are the real CLI.
const killed = `
-- 1_START.md --
Prompt one with {{input}}.
-- ASIDE.md --
Prompt aside.
-- BACK.md --
Prompt back with {{result}}.
-- WORK.md --
Prompt work on {{item}} and {{quote}}.
-- TAIL.sh --
echo "$RAYMOND_AGENT_ID TAIL" >>"$SIDE_EFFECTS"
echo "<goto input='tail&apos;s'>END.md</goto>"
-- END.md --
Prompt end with {{input}}.
`

const killedInput = "an \"input\"\nof 'two' lines"

// killedAPI answers the workflow; change may alter the rules.
func killedAPI(t testing.TB, change func(rules map[string]*claudetest.Rule)) *claudetest.Server {
	t.Helper()
	tool := func(name string) claudetest.Reply {
		return claudetest.Do(claudetest.Bash("echo " + name + ` >>"$SIDE_EFFECTS"`))
	}
	steps := func(match string, steps ...claudetest.Reply) *claudetest.Rule {
		r := claudetest.On(match, steps...)
		return &r
	}
	rules := map[string]*claudetest.Rule{
		"one":   steps("Prompt one", tool("ONE"), claudetest.Say("<call return=\"BACK.md\">ASIDE.md</call>")),
		"aside": steps("Prompt aside", tool("ASIDE"), claudetest.Say("<result>an aside,\n\"quoted\"</result>")),
		"back":  steps("Prompt back", claudetest.Say("<fork next=\"TAIL.sh\" item=\"it's &quot;a&quot;\" quote='&lt;b&gt;'>WORK.md</fork>")),
		"work":  steps("Prompt work", tool("WORK"), claudetest.Say("<result>worked</result>")),
		"end":   steps("Prompt end", claudetest.Say("<result>the end</result>")),
	}
	if change != nil {
		change(rules)
	}
	var list []claudetest.Rule
	for _, r := range rules {
		list = append(list, *r)
	}
	return claudetest.NewServer(t, list...)
}

func killedSite(t testing.TB, api *claudetest.Server) *site {
	t.Helper()
	return newRealSite(t, killed, api)
}

func (s *site) killedArgs() []string {
	return s.RunArgs("--input", killedInput, "--allowed-tools", "Bash", "--events", "copy.jsonl")
}

// The prompts of the workflow, with what the model must see at the end of each
// state, whatever happened on the way.
func killedConversations() map[string]string {
	tool := func(name string) string {
		return fmt.Sprintf(`[Bash {"command":"echo %s >>\"$SIDE_EFFECTS\"","description":"test"}]`, name)
	}
	done := "[= (Bash completed with no output)]"
	one := []string{"Prompt one with " + killedInput + ".\n", tool("ONE"), done, "<call return=\"BACK.md\">ASIDE.md</call>"}
	back := append(one[:4:4], "Prompt back with an aside,\n\"quoted\".\n",
		"<fork next=\"TAIL.sh\" item=\"it's &quot;a&quot;\" quote='&lt;b&gt;'>WORK.md</fork>")
	return map[string]string{
		"Prompt one":   sitetest.Spoken(one[:3]...),
		"Prompt aside": sitetest.Spoken(append(one[:4:4], "Prompt aside.\n", tool("ASIDE"), done)...),
		"Prompt back":  sitetest.Spoken(back[:5]...),
		"Prompt work":  sitetest.Spoken("Prompt work on it's \"a\" and <b>.\n", tool("WORK"), done),
		"Prompt end":   sitetest.Spoken(append(back, "Prompt end with tail's.\n")...),
	}
}

// wantUndisturbed checks everything that a kill must not have changed.
func (s *site) wantUndisturbed(api *claudetest.Server, o sitetest.Outcome, kills int) {
	s.T.Helper()
	if o.Stdout != "the end\n" {
		s.T.Errorf("result: got %q, want %q", o.Stdout, "the end\n")
	}
	for prompt, want := range killedConversations() {
		if got := sitetest.InterruptionNote.ReplaceAllString(sitetest.Seen(s.T, api, prompt), ""); got != want {
			s.T.Errorf("%s: the model saw\n%swant\n%s", prompt, got, want)
		}
	}
	s.wantEachStateOnce(map[string]int{"main 1_START.md": 1, "main ASIDE.md": 1, "main BACK.md": 1, "main TAIL.sh": 1,
		"main END.md": 1, "main_work1 WORK.md": 1})
	s.wantEffects(kills)
	s.wantSessionModes()
	s.wantToldTwice()
}

// wantEachStateOnce checks that each execution ended well exactly once.
func (s *site) wantEachStateOnce(want map[string]int) {
	s.T.Helper()
	got := map[string]int{}
	for _, e := range s.Events() {
		if b, ok := e.Body.(*state.StateFinished); ok && b.OK {
			got[e.Agent+" "+e.State]++
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		s.T.Errorf("executions that ended well (-want +got):\n%s", d)
	}
}

// wantEffects checks that each thing was done, and again at most once a kill.
func (s *site) wantEffects(kills int) {
	s.T.Helper()
	got := map[string]int{}
	for _, line := range s.Lines("effects") {
		got[line]++
	}
	for _, name := range []string{"ONE", "ASIDE", "WORK", "main TAIL"} {
		if got[name] < 1 || got[name] > 1+kills {
			s.T.Errorf("side effect %s: got it %d times, want it once and at most once more for each of %d kills", name, got[name], kills)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		s.T.Errorf("side effects: got also %v", got)
	}
}

// wantSessionModes checks that what began as a branch stayed one, under a session
// of its own.
func (s *site) wantSessionModes() {
	s.T.Helper()
	want := map[string]state.SessionMode{
		"1_START.md": state.Fresh, "ASIDE.md": state.Branch, "BACK.md": state.Resume, "WORK.md": state.Fresh, "END.md": state.Resume,
	}
	used := map[string]string{}
	for _, e := range s.Events() {
		b, ok := e.Body.(*state.StateStarted)
		if !ok || b.Kind != "prompt" {
			continue
		}
		if b.Session != want[e.State] {
			s.T.Errorf("%s: got session %s, want %s", e.State, b.Session, want[e.State])
		}
		if owner := used[b.SessionID]; owner != "" && b.Session != state.Resume {
			s.T.Errorf("%s: got the session of %s, want a new one", e.State, owner)
		}
		used[b.SessionID] = e.State
	}
}

// killedRun kills a run when the condition holds, resumes it and checks it.
func killedRun(t *testing.T, s *site, api *claudetest.Server, when func(j *sitetest.Command)) {
	t.Helper()
	j := s.Start(s.killedArgs()...)
	when(j)
	s.KillAll(j)
	s.wantUndisturbed(api, s.resumeReal(), 1)
}

// resumeReal resumes after a kill, or starts again what was not begun.
func (s *site) resumeReal() sitetest.Outcome {
	s.T.Helper()
	return s.Raymond(0, s.resumeRealArgs()...)
}

func (s *site) resumeRealArgs() []string {
	if !sitetest.Exists(s.StateFile()) {
		return s.killedArgs()
	}
	return []string{"resume", sitetest.RunID, "--events", "copy.jsonl"}
}

// TestContractKilledAtMomentsThatMatter kills a run where a resume has most to get wrong.
func TestContractKilledAtMomentsThatMatter(t *testing.T) {
	t.Parallel()
	t.Run("while a tool runs", func(t *testing.T) {
		t.Parallel()
		api := killedAPI(t, func(rules map[string]*claudetest.Rule) {
			rules["one"].FailFirst, rules["one"].Fail = 1, claudetest.Do(claudetest.Bash(`echo ONE >>"$SIDE_EFFECTS"; sleep 300`))
		})
		s := killedSite(t, api)
		killedRun(t, s, api, func(j *sitetest.Command) {
			j.Until("the tool", func() bool { return slices.Contains(s.Lines("effects"), "ONE") })
		})
	})
	for _, rule := range []string{"work", "aside", "back", "end"}[:sitetest.Dose(1, 4)] {
		t.Run("in the middle of the answer of "+rule, func(t *testing.T) {
			t.Parallel()
			reached := make(chan struct{}, 1)
			api := killedAPI(t, func(rules map[string]*claudetest.Rule) {
				hang := rules[rule].Steps[len(rules[rule].Steps)-1]
				hang.Hang, hang.Reached = claudetest.Middle, func() { reached <- struct{}{} }
				rules[rule].FailFirst, rules[rule].Fail = 1, hang
			})
			killedRun(t, killedSite(t, api), api, func(j *sitetest.Command) {
				select {
				case <-reached:
				case <-j.Done:
					t.Fatalf("got an end before the answer of %s: %v", rule, j.Wait())
				}
			})
		})
	}
	for _, at := range []struct {
		name string
		seen func(s *site) func() bool
	}{
		{"after the fork", func(s *site) func() bool { return has[*state.AgentStarted](s, "WORK.md") }},
		{"between two states", func(s *site) func() bool { return has[*state.Transition](s, "1_START.md") }},
	}[:sitetest.Dose(0, 2)] {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			api := killedAPI(t, nil)
			s := killedSite(t, api)
			killedRun(t, s, api, func(j *sitetest.Command) { j.Until(at.name, at.seen(s)) })
		})
	}
}

// TestContractKilledInAReminder repeats the reminder, not the state.
func TestContractKilledInAReminder(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	hang := claudetest.Say("<result>done</result>")
	hang.Hang, hang.Reached = claudetest.Middle, func() { reached <- struct{}{} }
	api := claudetest.NewServer(t,
		claudetest.On("Prompt one.", claudetest.Say("Hm.")),
		claudetest.Rule{Match: "exactly one tag", FailFirst: 1, Fail: hang, Steps: []claudetest.Reply{claudetest.Say("<result>done</result>")}},
	)
	s := newRealSite(t, twoPrompts, api)
	j := s.Start(s.RunArgs()...)
	select {
	case <-reached:
	case <-j.Done:
		t.Fatalf("got an end before the reminder: %v", j.Wait())
	}
	s.KillAll(j)
	s.Resume(0)
	requests := api.Requests()
	if len(requests) != 3 {
		t.Fatalf("requests: got %d, want 3: the prompt and the reminder twice", len(requests))
	}
	want := requests[1].Conversation()
	if got := sitetest.InterruptionNote.ReplaceAllString(requests[2].Conversation(), ""); got != want || !strings.HasPrefix(got, sitetest.Spoken("Prompt one.\n", "Hm.")+"user: ") {
		t.Errorf("repeated reminder: the model saw\n%swant\n%s", got, want)
	}
	if n := len(sitetest.Bodies[*state.Reminder](s.Events())); n != 1 {
		t.Errorf("reminders in the log: got %d, want 1", n)
	}
}

// moment is some time after some event.
type moment struct {
	events int
	wait   time.Duration
}

func aMoment(r *rand.Rand) moment {
	return moment{1 + r.IntN(9), time.Duration(r.IntN(900)) * time.Millisecond}
}

// TestContractKilledAtRandom kills runs some time after a random event, twice each.
func TestContractKilledAtRandom(t *testing.T) {
	t.Parallel()
	const seed = 20260101
	runs := sitetest.Dose(1, 4)
	random := rand.New(rand.NewPCG(seed, 0))
	for n := range runs {
		moments := []moment{aMoment(random), aMoment(random)}
		t.Run(fmt.Sprintf("%d of seed %d", n, seed), func(t *testing.T) {
			t.Parallel()
			api := killedAPI(t, nil)
			s := killedSite(t, api)
			kills := 0
			for _, m := range moments {
				if s.killedAt(m, s.resumeRealArgs()...) {
					kills++
				}
			}
			t.Logf("%d kills, at %v", kills, moments)
			s.wantUndisturbed(api, s.resumeReal(), kills)
		})
	}
}

// killedAt starts a command, kills everything at a moment of that, and returns
// false when the command ended before.
func (s *site) killedAt(m moment, args ...string) bool {
	s.T.Helper()
	before := len(s.Events())
	j := s.Start(args...)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for len(s.Events()) < before+m.events {
		select {
		case <-j.Done:
			return false
		case <-tick.C:
		}
	}
	select {
	case <-j.Done:
		return false
	case <-time.After(m.wait):
		s.KillAll(j)
		return true
	}
}

// has returns a condition: an event of a type, in a state, is in the log.
func has[T state.Body](s *site, in string) func() bool {
	return func() bool {
		for _, e := range s.Events() {
			if _, ok := e.Body.(T); ok && (in == "" || e.State == in) {
				return true
			}
		}
		return false
	}
}
