//go:build linux

package action_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/gemini/geminitest"
)

// geminiFlow has an agent that works, and that is asked again in the same conversation: by a
// later workflow run, on another machine.
const geminiFlow = `-- wf/1_START.md --
Do the work, then <goto>AGAIN.md</goto>.
-- wf/AGAIN.md --
Look at it, then <result>done</result>.
`

// TestContractGeminiInAStep: the real Gemini CLI works in a cage, behind the key proxy, which alone
// has the key, and continues its conversation in a job of a later workflow run.
func TestContractGeminiInAStep(t *testing.T) {
	t.Parallel()
	const work = `env; cat /proc/$PPID/environ /proc/self/environ; ours="$HOME/.gemini/raymond/.gemini"
if touch "$ours/settings.json" "$ours/policies/x"; then echo part open; else echo part guarded; fi
echo work >out.txt && git add out.txt && git -c user.name=a -c user.email=a@b commit -qm worked && mktemp -d && echo part shell`
	api := geminitest.NewServer(t, func(a agenttest.Asked) agenttest.Reply {
		switch {
		case strings.HasPrefix(a.Last(), "Do the work") && a.Output == "":
			return agenttest.Reply{Shell: work}
		case strings.HasPrefix(a.Last(), "Do the work"):
			return agenttest.Reply{Text: "<goto>AGAIN.md</goto>", Input: 1000, Output: 10}
		case a.Output == "":
			return agenttest.Reply{Shell: "cat out.txt && echo part resume"}
		}
		return agenttest.Reply{Text: "<result>done</result>", Input: 1000, Output: 10}
	})
	s := &scene{t, sitetest.NewForge(t), acttest.Repository(t, geminiFlow), ""}
	path := geminitest.Install(t)
	on := func(run int64, iterations string, code int) ended {
		j := newJob(t, s.forge, s.repo, run).with("agent", "gemini", "gemini-api-key", geminitest.Key, "gemini-path", path, "model", "gemini-2.5-pro",
			"workspace", "git", "max-iterations", iterations, "budget", "0", "cage", "require", "dangerously-skip-permissions", "true", "sandboxed", "true")
		for _, entry := range (geminitest.Vendor{}).Environ(api.URL, "") {
			if name, value, _ := strings.Cut(entry, "="); name == "GOOGLE_GEMINI_BASE_URL" {
				j.set(name, value)
			}
		}
		j.set("PATH", fmt.Sprintf("%s%c%s", geminitest.Node(), os.PathListSeparator, j.env["PATH"]))
		e := j.do(code)
		if settings, err := os.ReadFile(filepath.Join(j.env["HOME"], ".gemini", "raymond", ".gemini", "settings.json")); err != nil || !strings.Contains(string(settings), "sessionRetention") {
			t.Errorf("settings of the CLI: got %.80q, %v, want those of a run", settings, err)
		}
		return e
	}
	first := on(1, "1", problem.ExitCodes[problem.ClassOverLimit])
	second := on(2, "9", 0)
	second.wantOutputs(t, "status", "completed", "result", "done")
	if events, err := os.ReadFile(second.outputs["events-file"]); strings.Count(string(events), `"tokens":{"input":1100,"cached":0,"output":30}`) != 2 {
		t.Errorf("tokens of each state in the events: got %s, %v, want 1100 and 30", events, err)
	}
	all := api.Asked()
	var seen strings.Builder
	for _, a := range all {
		seen.Write(a.Body)
		if a.Key != geminitest.Key {
			t.Errorf("request with the key %q, want the real one", a.Key)
		}
	}
	for _, part := range []string{"part shell", "part resume", "<goto>AGAIN.md", "GEMINI_API_KEY=raymond-", "part guarded"} {
		if !strings.Contains(strings.ReplaceAll(seen.String(), `\u003c`, "<"), part) {
			t.Errorf("%s: got nothing of it in what the model was shown\n%v\n%v", part, first, second)
		}
	}
	if strings.Contains(seen.String(), geminitest.Key) {
		t.Error("the agent's tools found the key")
	}
	if last := all[len(all)-1]; len(last.Prompts) != 2 {
		t.Errorf("prompts of the conversation that was continued: got %q, want both", last.Prompts)
	}
}
