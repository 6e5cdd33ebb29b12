//go:build linux && world

package conformtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/state"
)

// describe is a shell script: it notes its state, its directory, and what is left of the
// script leave, if that has run: its variable, and whether its process is alive. Dead
// processes that nobody has waited for yet are not alive.
const describe = `left=none
read pid 2>/dev/null <WORK/pid && left=gone && grep -q '^State:.[^ZX]' /proc/$pid/status 2>/dev/null && left=alive
echo "$RAYMOND_STATE in $PWD, variable: $EXPORTED, process: $left" >>WORK/described
echo it is described
`

// leave is a shell script that leaves a variable, a process and another directory.
const leave = `export EXPORTED=1
setsid sleep 300 </dev/null >/dev/null 2>&1 &
echo $! >WORK/pid
mkdir WORK/sub
cd WORK/sub
. WORK/describe
`

const turns = `-- 1_START.md --
First prompt.
shell: . WORK/leave
say: one <goto>TWO</goto>
-- TWO.md --
Second prompt.
shell: . WORK/describe
say: two <result>the end</result>
`

// checkTurns: the tools of each turn of a conversation have the environment of its state and
// begin in the agent's directory, and what the turn before has started is not alive any more.
func checkTurns(t *testing.T, v agenttest.Vendor) {
	m := newMachine(t, v, turns)
	m.place("1_START.md", "TWO.md")
	for name, text := range map[string]string{"describe": describe, "leave": leave} {
		m.Write(m.file(name), strings.ReplaceAll(text, "WORK", m.Work))
	}
	m.run(0, "--permission-mode", "bypassPermissions")
	m.wantShown("First prompt.", "Second prompt.")
	want := []string{
		"1_START.md in " + m.Work + "/sub, variable: 1, process: alive",
		"TWO.md in " + m.Work + ", variable: , process: gone",
	}
	if got := m.Lines("described"); !slices.Equal(got, want) {
		t.Errorf("what the shells of the two turns found: got %q, want %q", got, want)
	}
}

const failing = `-- 1_START.md --
First prompt.
say: one <goto>TWO</goto>
-- TWO.md --
Second prompt.
shell: echo it is there
say: two <call return="THREE">BRANCH</call>
-- BRANCH.md --
Branch prompt.
shell: echo it is there
say: branched <result>from the branch</result>
-- THREE.md --
Third prompt: {{result}}
say: three <result>the end</result>
`

// failures are the ways in which the API fails a prompt, and the vendors for which that is
// not tried, with the reasons.
var failures = []struct {
	name   string
	reply  agenttest.Reply
	except map[string]string
}{
	{
		"refused", agenttest.Reply{Status: 503, Message: "too much to do"},
		map[string]string{protocol.BackendGemini: "its CLI asks again for half a minute before it gives up"},
	},
	{
		"cut", agenttest.Reply{Text: "Let me think about that.", Cut: true},
		map[string]string{protocol.BackendClaude: "its CLI takes the piece as the whole answer"},
	},
}

// checkFailed: a prompt that the API did not answer stands in the conversation once, also
// after it was sent again: in a conversation that a goto continues, and in a branch.
func checkFailed(t *testing.T, v agenttest.Vendor) {
	for _, f := range failures {
		if reason := f.except[v.Name]; reason != "" {
			t.Logf("%s: not tried, since %s", f.name, reason)
			continue
		}
		t.Run(f.name, func(t *testing.T) { checkFailedBy(t, v, f.reply) })
	}
}

func checkFailedBy(t *testing.T, v agenttest.Vendor, reply agenttest.Reply) {
	m := newMachine(t, v, failing)
	m.model.set(func(p *player) {
		p.breaks = map[string]agenttest.Reply{"Second prompt.": reply, "Branch prompt.": reply}
	})
	running := m.start("--permission-mode", "bypassPermissions")
	for _, s := range []struct{ name, prompt string }{{"TWO.md", "Second prompt."}, {"BRANCH.md", "Branch prompt."}} {
		running.Until("a retry of "+s.name, func() bool { return m.hasRetried(s.name) })
		m.model.set(func(p *player) { delete(p.breaks, s.prompt) })
	}
	if o := patiently(running); o.Code != 0 || strings.TrimSpace(o.Stdout) != "the end" {
		t.Errorf("run: got %v, want the end", o)
	}
	m.wantShown("First prompt.", "Second prompt.")
	m.wantShown("First prompt.", "Second prompt.", "Branch prompt.")
	m.wantShown("First prompt.", "Second prompt.", "Third prompt: from the branch")
}

// hasRetried reports whether an invocation of a state has failed and is tried again.
func (m *machine) hasRetried(name string) bool {
	return slices.ContainsFunc(m.Events(), func(e state.Event) bool {
		_, ok := e.Body.(*state.Retry)
		return ok && e.State == name
	})
}
