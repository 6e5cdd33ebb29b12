//go:build linux && world

package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/clitest"
	"github.com/raymond-action/raymond-action/runner/command/commandtest"
	"github.com/raymond-action/raymond-action/state"
)

var vendors = []clitest.Vendor{clitest.Claude, clitest.Codex, clitest.Gemini, commandtest.Vendor}

// checks are the promises that every agent CLI must keep.
var checks = []struct {
	name  string
	check func(*testing.T, clitest.Vendor)
}{
	{"transitions", checkTransitions},
	{"kill", checkKill},
	{"tools", checkTools},
	{"errors", checkErrors},
	{"gone", checkGone},
	{"carried", checkCarried},
	{"again", checkAgain},
	{"keys", checkKeys},
	{"stop", checkStop},
	{"budget", checkBudget},
	{"untrusted", checkUntrusted},
	{"caged", checkCaged},
}

// TestConformance runs the checks with every agent CLI.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, v := range vendors {
		t.Run(v.Name, func(t *testing.T) {
			for _, c := range checks {
				t.Run(c.name, func(t *testing.T) { c.check(t, v) })
			}
		})
	}
}

const transitions = `-- 1_START.md --
First prompt.
See @secret.txt, @./ and @sub.
say: one <goto>TWO</goto>
-- TWO.md --
Second prompt.
say: two <call return="THREE">BRANCH</call>
-- BRANCH.md --
Branch prompt.
say: branched <goto>DEEPER</goto>
-- DEEPER.md --
Deeper prompt.
say: deeper <result>from the branch</result>
-- THREE.md --
Third prompt: {{result}}
say: three <function return="FOUR">FRESH</function>
-- FRESH.md --
Fresh prompt.
say: fresh <result>from the function</result>
-- FOUR.md --
Fourth prompt: {{result}}
say: four <fork next="FIVE">WORKER</fork>
-- WORKER.md --
Worker prompt.
say: worker <result>worked</result>
-- FIVE.md --
Fifth prompt.
say: five <reset>LAST</reset>
-- LAST.md --
Last prompt.
say: last <result>the end</result>
`

// checkTransitions checks the model's input after each kind of transition, and the tokens of each state. Files
// that a prompt names with @ must not be attached.
func checkTransitions(t *testing.T, v clitest.Vendor) {
	m := newMachine(t, v, transitions)
	for _, name := range []string{"secret.txt", "sub/other.txt"} {
		m.Write(m.file(name), "what only the file says")
	}
	assert.Check(t, is.Equal(strings.TrimSpace(m.run(0).Stdout), "the end"), "result")
	m.wantShown("First prompt.")
	m.wantShown("First prompt.", "Second prompt.")
	m.wantShown("First prompt.", "Second prompt.", "Branch prompt.")
	m.wantShown("First prompt.", "Second prompt.", "Branch prompt.", "Deeper prompt.")
	third := []string{"First prompt.", "Second prompt.", "Third prompt: from the branch"}
	m.wantShown(third...)
	m.wantShown("Fresh prompt.")
	m.wantShown(append(third, "Fourth prompt: from the function")...)
	m.wantShown("Worker prompt.")
	m.wantShown(append(third, "Fourth prompt: from the function", "Fifth prompt.")...)
	m.wantShown("Last prompt.")
	if slices.ContainsFunc(m.model.requests(), func(a clitest.Request) bool { return strings.Contains(string(a.Body), "what only the file says") }) {
		t.Error("a file that the prompt names was attached")
	}
	ended := m.finished()
	assert.Check(t, is.Equal(len(ended), 10), "states that ended")
	want := state.Tokens{Input: 1000, Cached: 100, Output: 10}
	if v.Name == protocol.BackendGemini { // its CLI lets one model choose another
		want.Input, want.Output = 1100, 30
	}
	for _, e := range ended {
		if e.Tokens == nil || *e.Tokens != want {
			t.Errorf("tokens of a state: got %+v, want %+v", e.Tokens, want)
		}
		// Some versions of a CLI report the total cost of the conversation so far. The cost of a state must not
		// include the cost of earlier states.
		if e.USD != ended[0].USD || e.Estimated {
			t.Errorf("cost of a state: got %s, estimated %v, want that of the first, %s", e.USD, e.Estimated, ended[0].USD)
		}
	}
}

const waiting = `-- 1_START.md --
First prompt.
say: one <goto>TWO</goto>
-- TWO.md --
Second prompt. wait here
say: two <result>the end</result>
`

// checkKill kills a run while the model answers, and resumes it. The conversation contains each prompt
// once.
func checkKill(t *testing.T, v clitest.Vendor) {
	m := newMachine(t, v, waiting)
	m.model.set(func(p *player) { p.hangs = true })
	running := m.start()
	running.Until("the second prompt", func() bool { return m.model.count("Second prompt. wait here") > 0 })
	running.Kill()
	m.model.set(func(p *player) { p.hangs = false })
	assert.Check(t, is.Equal(strings.TrimSpace(m.resume(0).Stdout), "the end"), "result")
	m.wantShown("First prompt.", "Second prompt. wait here")
}

const tools = `-- 1_START.md --
---
permission_mode: plan
allowed_transitions: [{tag: goto, target: TWO}]
---
First prompt.
write: WORK/refused
say: one
-- TWO.md --
---
disallowed_tools: [Write, Edit, Bash]
allowed_transitions: [{tag: goto, target: THREE}]
---
Second prompt.
shell: touch WORK/refused && echo it is there
say: two
-- THREE.md --
---
allowed_tools: [Write, Edit, Bash]
---
Third prompt.
shell: touch WORK/done && echo it is there
say: three <result>the end</result>
`

// checkTools shows that an agent can't use tools that its state doesn't allow.
func checkTools(t *testing.T, v clitest.Vendor) {
	m := newMachine(t, v, tools)
	m.replaceWork("1_START.md", "TWO.md", "THREE.md")
	m.run(0, "--permission-mode", "bypassPermissions")
	assert.Check(t, !sitetest.Exists(m.file("refused")), "a file that the state does not allow: got it, want none")
	assert.Check(t, sitetest.Exists(m.file("done")), "a file that the state allows: got none, want it")
	if ended := m.finished(); len(ended) != 3 || v.Name != protocol.BackendCommand && (len(ended[0].Refusals) != 1 || ended[0].Refusals[0].Reason == "") {
		t.Errorf("states that ended: got %+v, want three, and the refusal in the first with its reason", ended)
	}
	for _, a := range m.model.requests() {
		assert.Check(t, !slices.Contains(a.Tools, "exit_plan_mode"), "tools that the model is offered: got %q, want none that leaves the plan mode", a.Tools)
	}
}

const once = `-- 1_START.md --
First prompt.
say: one <result>the end</result>
`

// checkErrors checks how a run ends for each kind of API error.
func checkErrors(t *testing.T, v clitest.Vendor) {
	for name, test := range map[string]struct {
		reply clitest.Reply
		code  int
		want  string // expected text of the failure
	}{
		"authentication": {clitest.Reply{Status: 401, Message: "no such key"}, problem.ExitCodes[problem.ClassRunFailed], "authentication"},
		"bad request":    {clitest.Reply{Status: 400, Message: "nothing like that"}, problem.ExitCodes[problem.ClassRunFailed], ""},
		"overloaded":     {clitest.Reply{Status: 503, Message: "too much to do"}, problem.ExitCodes[problem.ClassRunFailed], ""},
		"rate limit":     {clitest.Reply{Status: 429, Message: "too often"}, problem.ExitCodes[problem.ClassRunFailed], ""},
		"usage limit":    {clitest.Reply{Status: 429, UsageLimit: true, Message: "no more"}, problem.ExitCodes[problem.ClassSuspended], "usage limit"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, v, once)
			m.model.set(func(p *player) { p.fails = &test.reply })
			o := m.run(test.code, "--max-retries", "0", "--overload-wait", "0s")
			assert.Check(t, is.Contains(o.Stderr, test.want), "got %v, want %q in it", o, test.want)
		})
	}
}

// checkGone shows that a run fails if its conversation is missing, instead of starting a new one.
func checkGone(t *testing.T, v clitest.Vendor) {
	m := newMachine(t, v, waiting)
	m.run(problem.ExitCodes[problem.ClassOverLimit], "--max-iterations", "1")
	assert.NilError(t, os.RemoveAll(m.home))
	assert.NilError(t, os.MkdirAll(m.home, 0o755))
	o := m.resume(problem.ExitCodes[problem.ClassRunFailed], "--max-iterations", "9")
	if m.model.count("Second prompt. wait here") > 0 || !strings.Contains(o.Stderr, "session gone") {
		t.Errorf("got %v, want that the session is gone, and no request in a new one", o)
	}
}
