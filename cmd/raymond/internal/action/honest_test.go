//go:build linux

package action_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
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

// TestContractHonestAgentsNoticeNoCage: the real CLI, behind the key proxy, runs commands
// and servers, writes and commits, and resumes its conversation.
func TestContractHonestAgentsNoticeNoCage(t *testing.T) {
	t.Parallel()
	cages := [][]string{{"network", "none"}, {"cage", "require"}, {"cage", "on"}}
	for _, inputs := range cages[:sitetest.Dose(1, len(cages))] {
		t.Run(strings.Join(inputs, " "), func(t *testing.T) {
			t.Parallel()
			const work = `echo work >out.txt && git add out.txt && git -c user.name=a -c user.email=a@b commit -qm worked && node -e '
const s = require("http").createServer((q, r) => r.end("part server")).listen(0, async () => {
	console.log(await (await fetch("http://localhost:" + s.address().port)).text()); s.close(); })' && mktemp -d && echo part shell`
			api := claudetest.NewServer(t,
				claudetest.On("Do the work, ", claudetest.Do(claudetest.Bash(work)),
					claudetest.Do(claudetest.ToolUse("Write", map[string]any{"file_path": "written.txt", "content": "part tool\n"})), claudetest.Say("<goto>AGAIN.md</goto>")),
				claudetest.On("Look at it, ", claudetest.Do(claudetest.Bash("cat written.txt && echo part resume")), claudetest.Say("<result>done</result>")))
			s := &scene{t, sitetest.NewForge(t), acttest.Repository(t, honestFlow), ""}
			on := func(run int64, iterations string, code int) ended {
				j := newJob(t, s.forge, s.repo, run).with("anthropic-api-key", modelKey, "env", sitetest.CLIEnv, "workspace", "git", "max-iterations", iterations,
					"claude-path", claudetest.Install(t), "dangerously-skip-permissions", "true", "sandboxed", "true").with(inputs...)
				maps.Copy(j.env, sitetest.CLIVariables(api))
				return j.do(code)
			}
			first := on(1, "1", problem.ExitCodes[problem.ClassOverLimit])
			second := on(2, "9", 0)
			second.wantOutputs(t, "status", "completed", "result", "done")
			said := api.Last(t).Conversation()
			for _, part := range []string{"part server", "part shell", "part tool", "part resume"} {
				if !strings.Contains(said, part) {
					t.Errorf("%s: got nothing of it in\n%s\n%v", part, said, first)
				}
			}
			if told := first.String() + second.String(); strings.Contains(told, "cage: refused") {
				t.Errorf("log: got %s, want nothing refused", told)
			}
		})
	}
}
