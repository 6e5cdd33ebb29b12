//go:build linux && world

package e2e

import (
	"strings"
	"sync"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/runner/codex/codextest"
	"github.com/raymond-action/raymond-action/runner/gemini/geminitest"
)

// honestFlow has an agent that works, whose work is checked, and that is asked again in
// the same conversation: by a later workflow run, on another machine.
const honestFlow = `-- wf/1_START.md --
---
max_attempts: 1
done_when: ["grep -qx work out.txt && git log --format=%s -1 | grep -qx worked"]
---
Do the work, then <goto>AGAIN.md</goto>.
-- wf/AGAIN.md --
Look at it, then <result>done</result>.
`

// honestWork also looks for the key, and reaches for the settings of later invocations.
const honestWork = `echo work >out.txt && git add out.txt && git -c user.name=a -c user.email=a@b commit -qm worked && mktemp -d && printf 'part %s\n' 42
env; cat /proc/$PPID/environ /proc/self/environ; touch "$JOB_HOME/.gemini/raymond/.gemini/settings.json" || printf 'guarded %s\n' 42`

// namesOfCLIs are variables that keep a CLI off the network.
const namesOfCLIs = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC DISABLE_TELEMETRY DISABLE_UPDATES CLAUDE_CODE_MAX_RETRIES"

// inVendorsJobs are the inputs with which a step uses the CLI of each vendor.
var inVendorsJobs = map[agenttest.Vendor][]string{
	claudetest.Vendor{}: {"agent", "claude", "anthropic-api-key", modelKey, "dangerously-skip-permissions", "true", "sandboxed", "true"},
	codextest.Vendor{}:  {"agent", "codex", "openai-api-key", modelKey, "model", "gpt-5.5", "allowed-tools", "Bash"},
	geminitest.Vendor{}: {"agent", "gemini", "gemini-api-key", modelKey, "model", "gemini-2.5-pro", "dangerously-skip-permissions", "true", "sandboxed", "true"},
}

// TestContractAgentsInAJob: the real CLI of each vendor, in a cage and behind the key proxy, which alone has the key, works
// and commits, and is resumed by a later workflow run, on another machine.
func TestContractAgentsInAJob(t *testing.T) {
	t.Parallel()
	for vendor, inputs := range inVendorsJobs {
		t.Run(vendor.Name(), func(t *testing.T) {
			t.Parallel()
			var (
				mu  sync.Mutex
				all []agenttest.Asked
			)
			url := vendor.Serve(t, func(a agenttest.Asked) agenttest.Reply {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, a)
				switch isWork := strings.HasPrefix(a.Last(), "Do the work"); {
				case isWork && a.Output == "":
					return agenttest.Reply{Shell: honestWork}
				case isWork:
					return agenttest.Reply{Text: "<goto>AGAIN.md</goto>", Input: 1000, Output: 10}
				}
				return agenttest.Reply{Text: "<result>done</result>", Input: 1000, Output: 10}
			})
			path := vendor.Install(t)
			s := newScene(t, honestFlow)
			on := func(run int64, iterations string, code int) ended {
				j := newJob(t, s.forge, s.repo, run).with(inputs...).with(vendor.Name()+"-path", path, "workspace", "git", "max-iterations", iterations,
					"budget", "1", "cage", "require", "network", "none", "env", namesOfCLIs+" JOB_HOME")
				for _, entry := range vendor.Environ(url, j.env["HOME"]) {
					if name, value, _ := strings.Cut(entry, "="); name == "PATH" || strings.HasSuffix(name, "_BASE_URL") || strings.Contains(namesOfCLIs, name) {
						j.set(name, value)
					}
				}
				return j.set("JOB_HOME", j.env["HOME"]).do(code)
			}
			told := on(1, "1", problem.ExitCodes[problem.ClassOverLimit]).String()
			second := on(2, "9", 0)
			second.WantOutputs(t, "status", "completed", "result", "done")
			told += second.String()
			seen := ""
			for _, a := range all {
				if a.Key != modelKey {
					t.Errorf("request with the key %q, want the job's", a.Key)
				}
				seen += string(a.Body)
			}
			if last := all[len(all)-1]; len(last.Prompts) != 2 || !strings.Contains(seen, "part 42") || !strings.Contains(seen, "guarded 42") {
				t.Errorf("the second run was asked %q, want the first one's conversation with all of its output\n%s", last.Prompts, told)
			}
			if strings.Contains(seen+told, modelKey) {
				t.Errorf("got the key in what was said or told\n%s\n%s", seen, told)
			}
		})
	}
}
