//go:build linux

package action_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/codex/codextest"
)

const openAIKey = "sk-proj-0123456789abcdef"

// TestContractCodexInAJob: the real Codex CLI, caged and behind the key proxy, works and
// commits, and its conversation is resumed by a later workflow run, on another machine. The
// key is in nothing that agents can see.
func TestContractCodexInAJob(t *testing.T) {
	t.Parallel()
	const work = `echo work >out.txt && git add out.txt && git -c user.name=a -c user.email=a@b commit -qm worked && env && cat /proc/$PPID/environ; echo part shell`
	api := codextest.NewServer(t, func(a agenttest.Asked) agenttest.Reply {
		switch {
		case a.Output == "" && strings.Contains(a.Last(), "Do the work"):
			return agenttest.Reply{Shell: work}
		case strings.Contains(a.Last(), "Do the work"):
			return agenttest.Reply{Text: "<goto>AGAIN.md</goto>", Input: 1000, Output: 10}
		}
		return agenttest.Reply{Text: "<result>done</result>", Input: 1000, Output: 10}
	})
	s := &scene{t, sitetest.NewForge(t), acttest.Repository(t, honestFlow), ""}
	on := func(run int64, iterations string, code int) (*bareJob, ended) {
		j := newJob(t, s.forge, s.repo, run).with("openai-api-key", openAIKey, "agent", "codex", "workspace", "git", "max-iterations", iterations,
			"codex-path", codextest.Install(t), "model", "gpt-5.5", "budget", "1", "cage", "require", "network", "none", "allowed-tools", "Bash").
			set("OPENAI_BASE_URL", api.URL+"/v1")
		return j, j.do(code)
	}
	_, first := on(1, "1", problem.ExitCodes[problem.ClassOverLimit])
	j, second := on(2, "9", 0)
	second.wantOutputs(t, "status", "completed", "result", "done")
	seen := ""
	for _, a := range api.Asked() {
		if a.Key != openAIKey {
			t.Errorf("the API got the key %q, want the job's", a.Key)
		}
		seen += string(a.Body)
	}
	all := api.Asked()
	if last := all[len(all)-1]; len(last.Prompts) != 2 || !strings.Contains(seen, "part shell") {
		t.Errorf("the second run was asked %q, want the first one's conversation\n%v", last.Prompts, first)
	}
	told := seen + first.String() + second.String()
	if strings.Contains(told, openAIKey) || strings.Contains(told, "cage: refused") {
		t.Errorf("got the key, or something refused, in\n%s", told)
	}
	if found, _ := filepath.Glob(filepath.Join(j.env["HOME"], ".codex", "*.sqlite")); len(found) > 0 {
		t.Errorf("databases in the home folder: got %q, want none", found)
	}
}
