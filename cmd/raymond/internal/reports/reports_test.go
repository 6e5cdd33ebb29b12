//go:build linux

package reports_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/runner/insight"
)

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m)) }

// conversations is a workflow in which each tag leads to a prompt.
const conversations = `
-- 1_START.md --
Prompt one.
-- TWO.md --
Prompt two.
-- ASIDE.md --
Prompt aside.
-- BACK.md --
Prompt back with {{result}}.
-- PURE.md --
Prompt pure.
-- FRESH.md --
---
allowed_transitions: [{tag: result}, {tag: goto, target: TWO.md}]
---
Prompt fresh.
`

func api(t testing.TB) *claudetest.Server {
	t.Helper()
	return claudetest.NewServer(t,
		claudetest.On("Prompt one.", claudetest.Do(claudetest.Bash("echo a hidden-value-1")), claudetest.Say("<goto>TWO.md</goto>")),
		claudetest.On("Prompt two.", claudetest.Say("<call return=\"BACK.md\">ASIDE.md</call>")),
		claudetest.On("Prompt aside.", claudetest.Say("<result>an aside</result>")),
		claudetest.On("Prompt back", claudetest.Say("<function return=\"FRESH.md\">PURE.md</function>")),
		claudetest.On("Prompt pure.", claudetest.Say("<result>a pure thing</result>")),
		claudetest.On("Prompt fresh.", claudetest.Say("Hm.")),
		claudetest.On("exactly one tag", claudetest.Say("<result>all said</result>")),
	)
}

// report runs `raymond report --json`.
func report(t testing.TB, s *sitetest.Site) (r insight.Report) {
	t.Helper()
	o := s.StartWith([]string{"MY_SECRET_TOKEN=hidden-value-1"}, "report", sitetest.RunID, "--json").Wait()
	if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil {
		t.Fatalf("%s: %v", o, err)
	}
	return r
}

// said is what was said in an execution, a line each.
func said(x insight.Exec) (lines []string) {
	for _, m := range x.Messages {
		first, _, isLong := strings.Cut(m.Text, "\n- ") // a reminder lists what is wrong
		line := string(m.From) + ": " + first
		if !isLong && m.From == runner.FromTool {
			line = string(m.From) + ": " + m.Tool + m.Input + m.Text
		}
		lines = append(lines, line)
	}
	return lines
}

// TestContractReport: each state execution has what was said in it, and nothing of others
// whose conversation it continues or branches off.
func TestContractReport(t *testing.T) {
	t.Parallel()
	s := sitetest.NewReal(t, conversations, api(t))
	s.Run(3, "--max-iterations", "2", "--permission-mode", "bypassPermissions")
	s.Resume(0, "--max-iterations", "100")
	r := report(t, s)
	if err := os.Remove(filepath.Join(s.StateDir(), sitetest.RunID+".history")); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(r, report(t, s)); diff != "" {
		t.Errorf("without a history (-want +got):\n%s", diff)
	}
	got := map[string][]string{}
	for i, x := range r.Executions {
		if x.N != i+1 || x.Status != "completed" || x.Transition == nil || len(x.Output) > 0 {
			t.Errorf("execution %+v at place %d: want number %d, completed, with a transition and without lines of output", x, i, i+1)
		}
		got[x.State] = said(x)
	}
	want := map[string][]string{
		"1_START.md": {"user: Prompt one.\n", `tool: Bash{"command":"echo a ***","description":"test"}a ***`, "agent: <goto>TWO.md</goto>"},
		"TWO.md":     {"user: Prompt two.\n", `agent: <call return="BACK.md">ASIDE.md</call>`},
		"ASIDE.md":   {"user: Prompt aside.\n", "agent: <result>an aside</result>"},
		"BACK.md":    {"user: Prompt back with an aside.\n", `agent: <function return="FRESH.md">PURE.md</function>`},
		"PURE.md":    {"user: Prompt pure.\n", "agent: <result>a pure thing</result>"},
		"FRESH.md":   {"user: Prompt fresh.\n", "agent: Hm.", "user: Your last message does not end this step:", "agent: <result>all said</result>"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if len(r.LeftOut) > 0 || len(r.Parts) != 2 || r.Status != "completed" {
		t.Errorf("got %d parts, status %s, left out %q; want 2, completed, nothing", len(r.Parts), r.Status, r.LeftOut)
	}
}

// asking is a workflow that asks somebody whether what it has changed will do.
const asking = `
-- 1_START.md --
Change it.
-- NEXT.md --
Somebody says {{result}}.
`

// TestContractReportOfWork: a report has the files that a state changed, what was asked, and
// who answered what.
func TestContractReportOfWork(t *testing.T) {
	t.Parallel()
	s := sitetest.NewReal(t, asking, claudetest.NewServer(t,
		claudetest.On("Change it.", claudetest.Do(claudetest.Bash("echo new >> file; echo other > more")), claudetest.Say(`<ask next="NEXT.md">Will it do?</ask>`)),
		claudetest.On("Somebody says", claudetest.Say("<result>done</result>")),
	))
	s.Write(s.File("file"), "old\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "file"}, {"-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "one"}} {
		cmd := exec.Command("git", args...)
		if cmd.Dir = s.Work; cmd.Run() != nil {
			t.Fatalf("git %s failed", args)
		}
	}
	s.Run(10, "--workspace", "git", "--permission-mode", "bypassPermissions")
	s.Resume(0, "--workspace", "git", "--answer", "it will")
	r := report(t, s)
	if len(r.Executions) != 2 || len(r.Waits) != 1 {
		t.Fatalf("got %d executions and %d waits, want 2 and 1", len(r.Executions), len(r.Waits))
	}
	for _, args := range [][]string{{sitetest.RunID, "-o", "one.html"}, {"--all", "-o", "all.html"}} {
		o := s.Raymond(0, append([]string{"report"}, args...)...)
		page, err := os.ReadFile(s.File(args[len(args)-1]))
		if err != nil || o.Stdout != args[len(args)-1]+"\n" || !strings.Contains(string(page), sitetest.RunID) {
			t.Errorf("report %s: got stdout %q and a page of %d bytes, %v; want its name and a page on the run", args, o.Stdout, len(page), err)
		}
	}
	want := []insight.File{
		{Path: "file", Change: "changed", Diff: "@@ -1 +1,2 @@\n old\n+new\n"},
		{Path: "more", Change: "added", Diff: "@@ -0,0 +1 @@\n+other\n"},
	}
	if diff := cmp.Diff(want, r.Executions[0].Files); diff != "" {
		t.Errorf("files of the first state (-want +got):\n%s", diff)
	}
	if w := r.Waits[0]; w.Question != "Will it do?" || w.Answer != "it will" || w.By != "cli" || w.To.Before(w.From) {
		t.Errorf("wait: got %+v, want the question and its answer", w)
	}
}
