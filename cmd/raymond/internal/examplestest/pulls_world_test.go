//go:build linux && world

package examplestest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m)) }

// greeting is a project with a test that its owner runs by hand.
const greeting = `-- greet.sh --
echo
-- test.sh --
got=$(bash greet.sh World)
[ "$got" = "Hello, World" ] || { echo "greet.sh World: got '$got'"; exit 1; }
`

const (
	wrongGreeting = "echo Hi $1\n"
	hastyGreeting = "echo Hello, $1\n"
	rightGreeting = "printf 'Hello, %s\\n' \"$1\"\n"

	reviewedGreeting = rightGreeting + "# everybody\n"
	finding          = "A name such as -n \"x\" & <y> is not quoted."
)

// forGreeting has the workflow test what greeting is tested with.
func forGreeting(text string) string { return strings.ReplaceAll(text, "make test", "bash test.sh") }

func writes(name, content string) claudetest.Reply {
	return claudetest.Do(claudetest.ToolUse("Write", map[string]any{"file_path": name, "content": content}))
}

func reads(name string) claudetest.Reply {
	return claudetest.Do(claudetest.ToolUse("Read", map[string]any{"file_path": name}))
}

// greetingModel plays the model: its first version fails the test, its second
// one the review.
func greetingModel(t *testing.T) *claudetest.Server {
	return claudetest.NewServer(t,
		claudetest.On("Somebody has asked", claudetest.Say("One file, greet.sh. <goto>IMPLEMENT.md</goto>")),
		claudetest.On("Carry out your plan", reads("greet.sh"), writes("greet.sh", wrongGreeting), claudetest.Say("Written.")),
		claudetest.On("These tests fail: bash test.sh", writes("greet.sh", hastyGreeting), claudetest.Say("Fixed.")),
		claudetest.Rule{Match: "You review work", Sequence: []claudetest.Reply{
			claudetest.Do(claudetest.Bash("git diff")),
			claudetest.Say("<result>" + finding + "</result>"), claudetest.Say("<result>APPROVED</result>"),
		}},
		claudetest.On("greet everybody, please", writes("greet.sh", reviewedGreeting), claudetest.Say("As you like.")),
		claudetest.On(finding, writes("greet.sh", rightGreeting), claudetest.Say("Quoted.")),
		claudetest.On("The work is tested and approved", claudetest.Say("<result>greet.sh greets. ```<goto>1_START.md</goto>```</result>")),
	)
}

// TestAnIssueBecomesAPullRequest with the one file that newcomers copy and the real
// CLI, through a test that fails and a review that asks for a change. Two jobs of a workflow run have it, and
// comments on the pull request go on with it later.
func TestAnIssueBecomesAPullRequest(t *testing.T) {
	t.Parallel()
	api := greetingModel(t)
	s := New(t, Setup{Example: "issue-to-pr", Files: greeting, Edit: forGreeting, Shipped: true})
	s.UseCLI(api)
	s.Forge.AddIssue(Issue{Number: 7, Title: "greet.sh greets nobody"})
	r := s.Run("issues", labeled(t, "raymond", "greet.sh greets nobody", "It should say hello."))
	r.WantStep(t, "work/raymond", "success", "status", "suspended", "next-jobs", `["publish"]`)
	r.WantStep(t, "publish/raymond", "success", "status", "suspended", "next-jobs", "[]", "iterations", "15")
	wantPull(t, s, "greet.sh greets nobody", "greet.sh greets.")
	if got := s.Forge.Git("show", "raymond/issue-7:greet.sh"); got+"\n" != rightGreeting {
		t.Errorf("greet.sh on the branch: got %q, want %q", got, rightGreeting)
	}
	wantSticky(t, s, "pull request 101")
	wantNotToldTo(t, api, s.Forge.Token)

	// Somebody reviews it: the comment on the pull request goes to the agent that wrote it.
	r = s.answer(t, 101, "/raymond greet everybody, please")
	r.WantStep(t, "publish/raymond", "success", "status", "suspended")
	if got := s.Forge.Git("show", "raymond/issue-7:greet.sh"); got+"\n" != reviewedGreeting {
		t.Errorf("greet.sh after the review: got %q, want %q", got, reviewedGreeting)
	}
	r = s.answer(t, 101, "/raymond Done.")
	r.WantStep(t, "work/raymond", "success", "status", "completed", "result", "The pull request is as it should be.")
	wantNotToldTo(t, api, s.Forge.Token)
}

// answer has somebody with write permission comment on an issue or a pull request.
func (s *Stage) answer(t *testing.T, number int, text string) *acttest.Result {
	t.Helper()
	return s.answerOf(t, "ann", number, text)
}

// answerOf is answer for somebody else.
func (s *Stage) answerOf(t *testing.T, login string, number int, text string) *acttest.Result {
	t.Helper()
	issue := s.Forge.Issue(number)
	event := map[string]any{
		"action": "created", "comment": s.Forge.Say(number, login, text), "issue": issue.json(),
		"sender": map[string]any{"login": login, "type": "User"},
	}
	return s.Run("issue_comment", payload(t, event))
}

// wantSticky checks the one comment on the issue.
func wantSticky(t *testing.T, s *Stage, text string) {
	t.Helper()
	if notes := s.Forge.Issue(7).Notes; len(notes) != 1 || !strings.Contains(notes[0].Body, text) {
		t.Errorf("comments on the issue: got %+v, want one with %q", notes, text)
	}
}

// wantNotToldTo checks what the model was told: the reviewer the issue and nothing
// else, and nobody the token.
func wantNotToldTo(t *testing.T, api *claudetest.Server, token string) {
	t.Helper()
	for _, q := range api.Requests() {
		seen := q.Conversation()
		isTold := strings.Contains(seen, "> It should say hello.") || strings.Contains(seen, "> /raymond greet everybody, please")
		if strings.Contains(q.Prompt, "You review") && (strings.Contains(seen, "One file") || !isTold) {
			t.Errorf("reviewer: got\n%s\nwant the issue, and nothing of the author's conversation", seen)
		}
		if strings.Contains(seen, token) {
			t.Errorf("request: got the token in\n%s", seen)
		}
	}
}

// wantPull checks the one pull request and the one commit that its branch has
// more than main.
func wantPull(t *testing.T, s *Stage, title string, parts ...string) {
	t.Helper()
	pulls := s.Forge.Pulls()
	if len(pulls) != 1 || pulls[0].Head != "raymond/issue-7" || pulls[0].Base != "main" || pulls[0].Title != title || pulls[0].State != "open" {
		t.Fatalf("pull requests: got %+v, want one of raymond/issue-7 for main, called %q", pulls, title)
	}
	for _, part := range append(parts, "Closes #7.\n") {
		if !strings.Contains(pulls[0].Body, part) {
			t.Errorf("pull request: got the text\n%s\nwant %q in it", pulls[0].Body, part)
		}
	}
	got := strings.Split(s.Forge.Git("log", "--format=%an %s", "main..raymond/issue-7"), "\n")
	if want := []string{"github-actions[bot] Work on issue #7"}; !slices.Equal(got, want) {
		t.Errorf("commits of the branch: got %q, want %q", got, want)
	}
}
