//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// environmentWorkflow is a workflow whose script and agent write their environments to files.
const environmentWorkflow = `-- wf/START.sh --
# raymond: trusted=true
out=$(dirname "$RUNNER_TEMP")/told/script
{ pwd; ls -A; cat "$GITHUB_WORKSPACE"/*; } >"$out.dir" 2>/dev/null
env -0 >"$out"
grep NoNewPrivs /proc/self/status >"$out.privs"
echo '<goto>AGENT.md</goto>'
-- wf/AGENT.md --
---
done_when: ['env -0 >check', 'grep NoNewPrivs /proc/self/status >check.privs']
---
reply:
<result>done</result>
end.
`

// hiddenVariables are variables of a job that agents, scripts and done_when commands don't get, even if an
// input names them. The test lists the exceptions.
var hiddenVariables = strings.Fields(`ACTIONS_RUNTIME_TOKEN ACTIONS_RESULTS_URL ACTIONS_CACHE_URL ACTIONS_ID_TOKEN_REQUEST_TOKEN ACTIONS_ID_TOKEN_REQUEST_URL
	GITHUB_OUTPUT GITHUB_ENV GITHUB_PATH GITHUB_STATE GITHUB_STEP_SUMMARY RAYMOND_STATE_KEY INPUT_WORKFLOW INPUT_ANTHROPIC-API-KEY RAYMOND_SHIM_STDIN
	ANTHROPIC_API_KEY CLAUDE_CODE_OAUTH_TOKEN OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS OTEL_EXPORTER_OTLP_CLIENT_KEY
	FOR_NOBODY DEPLOY_KEY BASH_ENV NODE_OPTIONS AWS_SECRET_ACCESS_KEY GITHUB_WORKFLOW_SHA FOR_SCRIPTS CLAUDE_CONFIG_DIR GITHUB_TOKEN`)

// TestAgentsAndScriptsGetOnlyAllowedVariables compares the environments of agents and scripts with the allow-list.
func TestAgentsAndScriptsGetOnlyAllowedVariables(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	j := newJob(t, f, sitetest.Repository(t, environmentWorkflow), 1).withInputs(
		"anthropic-api-key", modelKey, "env", "FOR_ALL, GITHUB_TOKEN", "script-env", "FOR_SCRIPTS", "meta", "color=blue",
	).setVariables("FOR_ALL", "1", "LC_TIME", "C", "HTTPS_PROXY", "http://127.0.0.1:9", "no_proxy", "*", "NO_PROXY", "*")
	for _, name := range hiddenVariables {
		if j.Env[name] == "" && !strings.HasPrefix(name, "INPUT_") && name != "GITHUB_TOKEN" {
			j.setVariables(name, "value of "+name)
		}
	}
	notes := j.wrapCLI(`grep NoNewPrivs /proc/self/status >` + filepath.Join(j.Root, "notes", "privs"))
	told := filepath.Join(j.Root, "told") // outside the notes, so that agents can't write to it
	assert.NilError(t, os.Mkdir(told, 0o700))
	c := j.command("action")
	j.end(c).WantOutputs(t, "status", "completed")

	script := environment(sitetest.Read(j.T, filepath.Join(told, "script")))
	agent := environment(sitetest.Read(j.T, filepath.Join(notes, "env")))
	check := environment(sitetest.Read(j.T, filepath.Join(j.Work, "check")))
	for who, c := range map[string]struct {
		env  map[string]string
		sees string
	}{
		"scripts":            {script, "FOR_SCRIPTS GITHUB_TOKEN"},
		"agents":             {agent, "GITHUB_TOKEN CLAUDE_CONFIG_DIR ANTHROPIC_API_KEY ANTHROPIC_BASE_URL"},
		"done_when commands": {check, ""},
	} {
		sees := strings.Fields(c.sees)
		for _, name := range hiddenVariables {
			value, isThere := c.env[name]
			isSeen := isThere && (value == j.Env[name] || j.Env[name] == "")
			assert.Check(t, !isSeen || slices.Contains(sees, name), "%s see %s", who, name)
		}
		for _, name := range append(sees, "PATH", "HOME", "LC_TIME", "HTTPS_PROXY", "RUNNER_TEMP", "GITHUB_REPOSITORY", "GITHUB_RUN_ID", "FOR_ALL") {
			assert.Check(t, c.env[name] != "", "%s don't see %s", who, name)
		}
	}
	if got, want := sitetest.Read(t, filepath.Join(told, "script.dir")), script["PWD"]+"\n"; got != want || filepath.Base(script["PWD"]) != "empty" {
		t.Errorf("a trusted script starts in %q, want an empty folder, and nothing of the workspace", got)
	}
	if script["RAYMOND_VAR_COLOR"] != "blue" || script["GITHUB_TOKEN"] != j.Inputs["github-token"] || agent["GITHUB_TOKEN"] != j.Inputs["github-token"] {
		t.Errorf("scripts: got %q, want color and the token that was named", script)
	}
	if key := agent["ANTHROPIC_API_KEY"]; key == "" || strings.Contains(key, modelKey) || !strings.HasPrefix(agent["ANTHROPIC_BASE_URL"], "http://127.0.0.1:") {
		t.Errorf("agents: got the key %q at %q, want another one at an address of our own", key, agent["ANTHROPIC_BASE_URL"])
	}
	for name, want := range map[string]string{filepath.Join(told, "script.privs"): "0", filepath.Join(notes, "privs"): "1", filepath.Join(j.Work, "check.privs"): "1"} {
		if got := strings.Fields(sitetest.Read(j.T, name)); len(got) != 2 || got[1] != want {
			t.Errorf("%s: got %q, want %s", filepath.Base(name), got, want)
		}
	}
}

// environment parses the output of env -0.
func environment(text string) map[string]string {
	env := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// readProcesses is a script that reads as much as it can of every process, raymond included.
const readProcesses = `
for p in /proc/[0-9]*; do
	cat $p/environ $p/cmdline 2>/dev/null
	tr -d '\0' <$p/comm; echo; [ -r $p/environ ] && head -c 1 $p/mem 2>&1
done >NOTES/pried 2>/dev/null
p=$$
while [ $p -gt 1 ]; do
	p=$(awk '/^PPid/{print $2}' /proc/$p/status); n=$(cat /proc/$p/comm)
	case $n in raymond*) head -c 1 /proc/$p/environ >/dev/null 2>NOTES/refused && touch NOTES/readable; echo $p >NOTES/parent; ls -l /proc/$p/fd >/dev/null 2>&1 && touch NOTES/readable;; esac
done
`

// TestModelKeyIsOutOfReach shows that an agent's tools can't read the API key. Only the memory of raymond
// contains the key, and other processes of the same user can't read that memory.
func TestModelKeyIsOutOfReach(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	// Tests that run in parallel use other keys, because the memory of their raymond processes can be read while these start.
	const key, run = "sk-ant-api03-b3V0LW9mLXJlYWNo-0123456789", 7001
	j := newJob(t, f, sitetest.Repository(t, environmentWorkflow), run).withInputs("anthropic-api-key", key, "state-key", sitetest.NewStateKey(t), "cage", "off") // the cage would hide the key too
	if os.Geteuid() == 0 {
		j.as = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	j.publishPrograms()
	notes := filepath.Join(j.Root, "notes")
	j.wrapCLI(strings.ReplaceAll(readProcesses, "NOTES", notes))
	j.do(0).WantOutputs(t, "status", "completed")
	if !sitetest.Exists(filepath.Join(notes, "parent")) || sitetest.Exists(filepath.Join(notes, "readable")) {
		t.Errorf("the orchestrator: found: %v, readable: %v, want it found and not readable: %s",
			sitetest.Exists(filepath.Join(notes, "parent")), sitetest.Exists(filepath.Join(notes, "readable")), sitetest.Read(j.T, filepath.Join(notes, "refused")))
	}
	pried := sitetest.Read(j.T, filepath.Join(notes, "pried")) + sitetest.Read(j.T, filepath.Join(notes, "env"))
	for name, secret := range map[string]string{"model's key": key, "state key": j.Inputs["state-key"], "job's token": j.Env["ACTIONS_RUNTIME_TOKEN"]} {
		assert.Check(t, !strings.Contains(pried, secret), "what an agent could read: got the %s in it", name)
	}
	assert.Check(t, is.Contains(pried, "ANTHROPIC_BASE_URL=http://127.0.0.1:"), "want an agent to read at least its own environment")
}
