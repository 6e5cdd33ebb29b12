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

// searchForKeys is a command that looks for API keys in its environment, and in the environment and the arguments of
// each process above it. It contains no command substitution, since Gemini CLI doesn't run commands with one.
const searchForKeys = `{ env; p=$$; while [ "$p" -gt 1 ]; do tr '\0' '\n' <"/proc/$p/environ"; tr '\0' ' ' <"/proc/$p/cmdline"; ` +
	`sed 's/.*) . //' "/proc/$p/stat" >stat; read p rest <stat; done 2>/dev/null; echo "_KEY: dumped to the end"; } | grep -aE '_KEY|_TOKEN|_URL'`

const dumping = `-- 1_START.md --
First prompt.
shell: ` + searchForKeys + `
say: one <result>the end</result>
`

// checkKeys shows that only the API receives the key. The agent's tools find neither the key nor the key
// proxy's address for another vendor's API.
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
	newRelay(t, v, model, dumping).run(0, 1, append(allToolsInputs, "cage", "off")...)
	output := ""
	for _, a := range model.requests() {
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

// allToolsInputs are the inputs that let an agent use all tools without asking.
var allToolsInputs = slices.Clip([]string{"permission-mode", "bypassPermissions", "sandboxed", "true"})

const staying = `-- 1_START.md --
First prompt.
say: one <goto>TWO</goto>
-- TWO.md --
Second prompt. wait here
shell: mkdir WORK/staying && exec setsid sleep 1000; echo it is there
say: two <result>the end</result>
`

// checkStop shows that a signal stops a run and all processes of the tool call that is running at that moment. After a
// resume, the conversation contains the prompt once.
func checkStop(t *testing.T, v clitest.Vendor) {
	m := newMachine(t, v, staying)
	m.replaceWork("TWO.md")
	m.model.set(func(p *player) { p.hangs = true })
	running := m.start("--permission-mode", "bypassPermissions")
	running.Until("the tool", func() bool { return sitetest.Exists(m.file("staying")) })
	running.Signal(syscall.SIGINT)
	assert.Check(t, is.Equal(waitLong(running).Code, problem.ExitCodes[problem.ClassCancelled]), "stopped")
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

// pricedModels are models with a known price.
var pricedModels = map[string]string{protocol.BackendClaude: "sonnet", protocol.BackendCodex: "gpt-5.5", protocol.BackendGemini: "gemini-2.5-pro"}

// checkBudget shows that a CLI ends without a further request when an answer has used up the budget, and that
// the conversation continues with a larger budget.
func checkBudget(t *testing.T, v clitest.Vendor) {
	model := pricedModels[v.Name]
	if model == "" {
		t.Log("not tried, since nothing stands between it and its API")
		return
	}
	player := &player{input: 50_000} // with more tokens the CLIs would shorten the conversation
	r, inputs := newRelay(t, v, player, dear), slices.Clip(append(allToolsInputs, "model", model))
	r.run(problem.ExitCodes[problem.ClassOverLimit], 1, append(inputs, "budget", "0.05")...)
	assert.Check(t, is.Equal(player.count("First prompt."), 1), "requests")
	r.run(0, 2, append(inputs, "resume", "require", "budget", "9")...)
}

// instructionFiles are files in a checkout that contain instructions to an agent CLI.
const instructionFiles = `-- CLAUDE.md --
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

// checkUntrusted shows that a CLI ignores instructionFiles in an untrusted checkout and uses them in a trusted one.
func checkUntrusted(t *testing.T, v clitest.Vendor) {
	if v.Name == protocol.BackendCommand {
		t.Log("not tried, since it obeys no checkout")
		return
	}
	for _, trust := range []string{"true", "false"} {
		model := &player{}
		r := newRelay(t, v, model, once)
		sitetest.Commit(t, r.repo, instructionFiles)
		r.run(0, 1, "trust-checkout", trust)
		obeyed := slices.ContainsFunc(model.requests(), func(a clitest.Request) bool {
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

// checkCaged shows that an agent in a cage without network can run commands, commit and write files. It can't write the
// files that configure its CLI, and an agent with read-only access can't write at all.
func checkCaged(t *testing.T, v clitest.Vendor) {
	m := newMachine(t, v, caged)
	m.replaceWork("WRITE.md", "TWO.md")
	git := exec.Command("git", "init", "-q", m.Work)
	out, err := git.CombinedOutput()
	assert.NilError(t, err, "git init: %v\n%s", err, out)
	held := []string{"--cage", "require", "--network", "none"}
	if v.Name == protocol.BackendCommand {
		held = []string{"--cage", "on", "--cage-read", filepath.Dir(install(t, v))} // the test calls the API directly, without a key proxy
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
