//go:build linux && world

package e2e

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/clitest"
)

// dump tells what a tool can find out of keys by itself: in its own environment, and in the
// environment and the arguments of each of its ancestors. Gemini CLI runs no command with a
// substitution in it.
const dump = `{ env; p=$$; while [ "$p" -gt 1 ]; do tr '\0' '\n' <"/proc/$p/environ"; tr '\0' ' ' <"/proc/$p/cmdline"; ` +
	`sed 's/.*) . //' "/proc/$p/stat" >stat; read p rest <stat; done 2>/dev/null; echo "_KEY: dumped to the end"; } | grep -aE '_KEY|_TOKEN|_URL'`

const dumping = `-- 1_START.md --
First prompt.
shell: ` + dump + `
say: one <result>the end</result>
`

// checkKeys: the API alone gets to see the key. Neither it nor the way to the API of another
// vendor is anywhere where tools look.
func checkKeys(t *testing.T, v clitest.Vendor) {
	key := ""
	for _, entry := range v.Environ(t, "http://x", t.TempDir()) {
		if name, value, _ := strings.Cut(entry, "="); keyInputs[name] != "" {
			key = value
		}
	}
	if key == "" {
		t.Log("not tried, since it has no key")
		return
	}
	model := &player{}
	newRelay(t, v, model, dumping).run(0, 1, append(everything, "cage", "off")...)
	output := ""
	for _, a := range model.all() {
		output = cmp.Or(a.Output, output)
		assert.Check(t, is.Equal(a.Key, key), "the key that the API got")
	}
	assert.Check(t, is.Contains(output, "dumped to the end"), "a tool found %q", output)
	assert.Check(t, !strings.Contains(output, key), "a tool found %q, want no key in it", output)
	for _, backend := range protocol.Backends() {
		if backend != v.Name && strings.Contains(output, "/i/"+backend+"/") {
			t.Errorf("a tool found the way to the API of %s: %q", backend, output)
		}
	}
}

// everything are the inputs by which an agent may do everything.
var everything = slices.Clip([]string{"permission-mode", "bypassPermissions", "sandboxed", "true"})

const staying = `-- 1_START.md --
First prompt.
say: one <goto>TWO</goto>
-- TWO.md --
Second prompt. wait here
shell: mkdir WORK/staying && exec setsid sleep 1000; echo it is there
say: two <result>the end</result>
`

// checkStop: a signal ends a run while a tool stays, with all its processes, and resumed the
// prompt stands in the conversation once.
func checkStop(t *testing.T, v clitest.Vendor) {
	m := newMachine(t, v, staying)
	m.place("TWO.md")
	m.model.set(func(p *player) { p.hangs = true })
	running := m.start("--permission-mode", "bypassPermissions")
	running.Until("the tool", func() bool { return sitetest.Exists(m.file("staying")) })
	running.Signal(syscall.SIGINT)
	assert.Check(t, is.Equal(patiently(running).Code, problem.ExitCodes[problem.ClassCancelled]), "stopped")
	if left := m.Processes(); len(left) > 0 {
		t.Errorf("processes after the end: got %s, want none", sitetest.Describe(left))
	}
	m.model.set(func(p *player) { p.hangs = false })
	assert.Check(t, is.Equal(strings.TrimSpace(m.resume(0).Stdout), "the end"), "result")
	m.wantShown("First prompt.", "Second prompt. wait here")
}

const dear = `-- 1_START.md --
First prompt.
shell: echo it is there
say: one <result>the end</result>
`

// pricedModels are models with a price.
var pricedModels = map[string]string{protocol.BackendClaude: "sonnet", protocol.BackendCodex: "gpt-5.5", protocol.BackendGemini: "gemini-2.5-pro"}

// checkBudget: when an answer has used up the budget the CLI asks nothing more, takes that for
// its end, and the conversation goes on with more money.
func checkBudget(t *testing.T, v clitest.Vendor) {
	model := pricedModels[v.Name]
	if model == "" {
		t.Log("not tried, since nothing stands between it and its API")
		return
	}
	player := &player{input: 50_000} // with more tokens the CLIs would shorten the conversation
	r, inputs := newRelay(t, v, player, dear), slices.Clip(append(everything, "model", model))
	r.run(problem.ExitCodes[problem.ClassOverLimit], 1, append(inputs, "budget", "0.05")...)
	assert.Check(t, is.Equal(player.count("First prompt."), 1), "requests")
	r.run(0, 2, append(inputs, "resume", "require", "budget", "9")...)
}

// planted are the files by which a checkout would have a CLI obey it.
const planted = `-- CLAUDE.md --
PLANTED
-- AGENTS.md --
PLANTED
-- GEMINI.md --
PLANTED
-- .env --
GEMINI_MODEL=PLANTED
-- .agents/skills/x/SKILL.md --
---
name: x
description: PLANTED
---
-- .codex/config.toml --
developer_instructions = "PLANTED"
-- .claude/settings.json --
{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo PLANTED"}]}]}}
-- .gemini/settings.json --
{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "name": "x", "command": "echo PLANTED"}]}]},
	"mcpServers": {"x": {"command": "touch", "args": ["served"]}}, "tools": {"allowed": ["run_shell_command"]}}
`

// checkUntrusted: of a checkout that is not trusted nothing is obeyed; of one that is, it is.
func checkUntrusted(t *testing.T, v clitest.Vendor) {
	if v.Name == protocol.BackendCommand {
		t.Log("not tried, since it obeys no checkout")
		return
	}
	for _, trust := range []string{"true", "false"} {
		model := &player{}
		r := newRelay(t, v, model, once)
		sitetest.Commit(t, r.repo, planted)
		r.run(0, 1, "trust-checkout", trust)
		obeyed := slices.ContainsFunc(model.all(), func(a clitest.Request) bool {
			return strings.Contains(string(a.Body), "PLANTED") || strings.Contains(a.Model, "PLANTED")
		})
		assert.Check(t, is.Equal(obeyed, trust == "true"), "trusted %s: what was planted reached the model", trust)
	}
}

const caged = `-- 1_START.md --
First prompt.
shell: for f in ~/.codex/config.toml ~/.gemini/raymond/.gemini/settings.json ~/.claude/settings.json; do touch $f; done; echo x > made && git add made && git -c user.name=a -c user.email=a@b commit -qm made; touch $TMPDIR/x && echo it is there
say: one <goto>WRITE</goto>
-- WRITE.md --
Another prompt.
write: WORK/written
say: written <goto>TWO</goto>
-- TWO.md --
---
permission_mode: plan
disallowed_tools: [Bash]
allowed_transitions: [{tag: result}]
---
Second prompt.
write: WORK/refused
say: two <result>the end</result>
`

// checkCaged: in a cage without network an agent runs commands, commits and writes files, what configures its CLI can't be
// written, and an agent that may only read writes nothing.
func checkCaged(t *testing.T, v clitest.Vendor) {
	m := newMachine(t, v, caged)
	m.place("WRITE.md", "TWO.md")
	git := exec.Command("git", "init", "-q", m.Work)
	out, err := git.CombinedOutput()
	assert.NilError(t, err, "git init: %v\n%s", err, out)
	held := []string{"--cage", "require", "--network", "none"}
	if v.Name == protocol.BackendCommand {
		held = []string{"--cage", "on", "--cage-read", filepath.Dir(install(t, v))} // this test is the agent, and no proxy stands before its API
	}
	o := m.run(0, append(held, "--permission-mode", "bypassPermissions", "--state-dir", filepath.Join(t.TempDir(), "state"))...)
	out, err = exec.Command("git", "-C", m.Work, "log", "--format=%s").Output()
	assert.Check(t, is.Equal(strings.TrimSpace(string(out)), "made"), "commits: got %q, %v, want what the agent has made: %v", out, err, o)
	assert.Check(t, sitetest.Exists(m.file("written")), "a file that the agent has written: got none: %v", o)
	assert.Check(t, !sitetest.Exists(m.file("refused")), "a file of an agent that may only read: got it, want none")
	for _, name := range []string{".codex/config.toml", ".claude/settings.json"} {
		if info, err := os.Stat(filepath.Join(m.home, name)); err == nil && info.Size() == 0 {
			t.Errorf("%s: got it written from within the cage", name)
		}
	}
}
