//go:build linux

package examplestest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// scripted is a job in which states of an example that are scripts run one by one.
type scripted struct {
	t     testing.TB
	forge *Forge
	work  string
	env   map[string]string
}

func newScripted(t testing.TB, example string) *scripted {
	t.Helper()
	f := newForge(t)
	// Read by this process, or the go command would take an old result for one of a
	// changed script.
	scope := t.TempDir()
	if err := os.CopyFS(scope, os.DirFS(filepath.Join(acttest.Root(t), "examples", example))); err != nil {
		t.Fatal(err)
	}
	return &scripted{t: t, forge: f, work: t.TempDir(), env: map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "TMPDIR": t.TempDir(), "GITHUB_ACTIONS": "true", "RAYMOND_WORKFLOW_ID": "w",
		"GITHUB_TOKEN": f.Token, "GITHUB_SERVER_URL": f.URL, "GITHUB_API_URL": f.URL + "/api", "GITHUB_REPOSITORY": Repository,
		"RAYMOND_SCOPE": scope, "RAYMOND_VAR_ISSUE": "7",
	}}
}

// newPushing is a job with a shallow checkout, as actions/checkout makes it.
func newPushing(t testing.TB) *scripted {
	t.Helper()
	p := newScripted(t, "issue-to-pr")
	repo := acttest.Repository(t, "-- a.txt --\nfirst\n")
	acttest.Commit(t, repo, "-- a.txt --\nsecond\n")
	p.forge.take(repo)
	p.work = filepath.Join(t.TempDir(), "work")
	p.forge.runGit("clone", "--quiet", "--depth", "1", "file://"+p.forge.Bare, p.work)
	event := filepath.Join(t.TempDir(), "event.json")
	p.write(event, encoded(t, payload(t, "issues-labeled")))
	p.env["GITHUB_EVENT_PATH"], p.env["GITHUB_SHA"] = event, p.forge.Git("rev-parse", "main")
	return p
}

func (p *scripted) write(path, text string) {
	p.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// script runs one state with a payload and returns what it prints.
func (p *scripted) script(name, payload string) (stdout, stderr string, err error) {
	p.t.Helper()
	file := filepath.Join(p.env["HOME"], "payload")
	p.write(file, payload)
	cmd := exec.Command("/bin/bash", filepath.Join(p.env["RAYMOND_SCOPE"], name))
	cmd.Dir = p.work
	for k, v := range p.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Env = append(cmd.Env, "RAYMOND_RESULT_FILE="+file, "RAYMOND_RESULT="+payload)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if strings.Contains(out.String()+errs.String(), p.forge.Token) {
		p.t.Errorf("%s: got the token in %q, %q", name, out.String(), errs.String())
	}
	return out.String(), errs.String(), err
}

// want runs one state, which must print the given text.
func (p *scripted) want(name, payload, want string) {
	p.t.Helper()
	if out, errs, err := p.script(name, payload); err != nil || out != want {
		p.t.Errorf("%s with %q: got %q, %q, %v; want %q", name, payload, out, errs, err, want)
	}
}

// commit commits a file and returns the payload of PUSH.sh.
func (p *scripted) commit(content string) string {
	p.t.Helper()
	p.write(filepath.Join(p.work, "a.txt"), content)
	out, errs, err := p.script("COMMIT.sh", "said <b> & \"c\"")
	payload, ok := strings.CutPrefix(out, `<goto input="`)
	payload, last, ended := strings.Cut(payload, `">`)
	if err != nil || !ok || !ended || last != "PUSH.sh</goto>\n" {
		p.t.Fatalf("COMMIT.sh: got %q, %q, %v; want a goto", out, errs, err)
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&").Replace(payload)
}

const onward = "<goto input=\"said &lt;b&gt; &amp; &quot;c&quot;\">PULL_REQUEST.sh</goto>\n"

func (p *scripted) wantBranch(content string) {
	p.t.Helper()
	if got := p.forge.Git("show", "raymond/issue-7:a.txt"); got != strings.TrimSpace(content) {
		p.t.Errorf("a.txt on the branch: got %q, want %q", got, content)
	}
}

// TestAPushCanBeRepeated: after a crash, which changes nothing, and in a later run,
// whose commit takes the place of the first one's.
func TestAPushCanBeRepeated(t *testing.T) {
	t.Parallel()
	p := newPushing(t)
	p.advance("main") // which the shallow checkout knows nothing of
	payload := p.commit("third\n")
	p.want("PUSH.sh", payload, onward)
	p.wantBranch("third\n")
	p.want("PUSH.sh", payload, onward)
	if n := len(p.forge.Requests("POST /acme/consumer.git/git-receive-pack")); n != 1 {
		t.Errorf("pushes: got %d, want 1", n)
	}
	p.forge.runGit("-C", p.work, "reset", "--quiet", "--hard", "HEAD~")
	p.want("PUSH.sh", p.commit("other\n"), onward)
	p.wantBranch("other\n")
	if left, err := os.ReadDir(p.env["TMPDIR"]); err != nil || len(left) > 0 {
		t.Errorf("temporary folder: got %v (%v), want nothing", left, err)
	}
}

// advance makes a commit of somebody else on a branch of the forge.
func (p *scripted) advance(branch string) string {
	p.t.Helper()
	commit := p.forge.Git("commit-tree", "-m", "of somebody else", "-p", branch, branch+"^{tree}")
	p.forge.Git("update-ref", "refs/heads/"+branch, commit)
	return commit
}

// TestACommitThatComesMeanwhileStays, after the branch was looked at.
func TestACommitThatComesMeanwhileStays(t *testing.T) {
	t.Parallel()
	p := newPushing(t)
	p.want("PUSH.sh", p.commit("third\n"), onward)
	p.forge.runGit("-C", p.work, "reset", "--quiet", "--hard", "HEAD~")
	theirs, payload := "", p.commit("other\n")
	p.forge.Before(func(q Request) {
		if strings.Contains(q.Query, "service=git-receive-pack") {
			theirs = p.advance("raymond/issue-7")
		}
	})
	out, errs, err := p.script("PUSH.sh", payload)
	if after := p.forge.Git("rev-parse", "raymond/issue-7"); err == nil || after != theirs {
		t.Errorf("PUSH.sh: got %q, %q, %v, the branch at %s; want it left at %s", out, errs, err, after, theirs)
	}
}

// TestACommitOfAnAgentCanBeRepeated, too: what is there already is nobody else's.
func TestACommitOfAnAgentCanBeRepeated(t *testing.T) {
	t.Parallel()
	p := newPushing(t)
	p.write(filepath.Join(p.work, "a.txt"), "third\n")
	p.forge.runGit("-C", p.work, "commit", "--quiet", "--all", "--message", "of an agent")
	payload := p.commit("third\n")
	for range 2 {
		p.want("PUSH.sh", payload, onward)
	}
}

// TestACommitOfSomebodyElseStays, and the run says whose it is.
func TestACommitOfSomebodyElseStays(t *testing.T) {
	t.Parallel()
	p := newPushing(t)
	p.want("PUSH.sh", p.commit("third\n"), onward)
	p.forge.Git("branch", "--force", "raymond/issue-7", "main")
	before := p.forge.Git("rev-parse", "raymond/issue-7")
	p.forge.runGit("-C", p.work, "reset", "--quiet", "--hard", "HEAD~")
	out, errs, err := p.script("PUSH.sh", p.commit("other\n"))
	if after := p.forge.Git("rev-parse", "raymond/issue-7"); err == nil || !strings.Contains(errs, "a commit of test@example.com") || after != before {
		t.Errorf("PUSH.sh: got %q, %q, %v, the branch from %s to %s; want it left alone", out, errs, err, before, after)
	}
}

// TestNothingButAnIssueNamesTheBranch: what isn't a number, a commit or a folder is
// refused before anybody is asked.
func TestNothingButAnIssueNamesTheBranch(t *testing.T) {
	t.Parallel()
	p := newPushing(t)
	good := p.commit("third\n")
	commit, rest, _ := strings.Cut(good, "\n")
	for _, test := range []struct{ issue, payload string }{
		{"", good}, {"7:refs/heads/main", good}, {"../main", good}, {"-7", good}, {"7\n8", good}, {"٧", good},
		{"7", "main\n" + rest}, {"7", "--all\n" + rest}, {"7", commit[:39] + "\n" + rest}, {"7", "+" + commit + "\n" + rest},
		{"7", "\n" + rest}, {"7", ""},
	} {
		p.env["RAYMOND_VAR_ISSUE"] = test.issue
		if out, errs, err := p.script("PUSH.sh", test.payload); err == nil || out != "" {
			t.Errorf("issue %q, payload %q: got %q, %q, want it refused", test.issue, test.payload, out, errs)
		}
	}
	if asked := p.forge.Requests(""); len(asked) > 0 {
		t.Errorf("requests: got %v, want none", asked)
	}
}

// TestWithoutChangesThereIsNoPullRequest, and without a token no push.
func TestWithoutChangesThereIsNoPullRequest(t *testing.T) {
	t.Parallel()
	p := newPushing(t)
	p.want("COMMIT.sh", "All is well.", "<result>The agents changed nothing. All is well.</result>\n")
	payload := p.commit("third\n")
	p.env["GITHUB_TOKEN"] = ""
	if _, errs, err := p.script("PUSH.sh", payload); err == nil || !strings.Contains(errs, "script-env: GITHUB_TOKEN") {
		t.Errorf("PUSH.sh without a token: got %q, %v; want it to name the input", errs, err)
	}
	p.env["GITHUB_TOKEN"] = "ghs_wrong"
	if _, errs, err := p.script("PUSH.sh", payload); err == nil {
		t.Errorf("PUSH.sh with a wrong token: got %q, want it to fail", errs)
	}
	if _, errs, err := p.script("PULL_REQUEST.sh", "text"); err == nil || !strings.Contains(errs, "401") {
		t.Errorf("PULL_REQUEST.sh with a wrong token: got %q, %v; want the status", errs, err)
	}
}

// TestAnIssueThatBringsNoAnswerIsGivenUp after three runs, one of which was taken up
// again: the comment says so, and the label is gone.
func TestAnIssueThatBringsNoAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	p := newScripted(t, "scheduled-poll")
	var many []Comment
	for i := range 120 {
		many = append(many, Comment{ID: i + 1, Author: "eve", Body: "me too"})
	}
	p.forge.AddIssue(Issue{Number: 7, Title: "a & b", Body: "<c>\r\nd <!-- e -->\u202e", Labels: []string{"examine"}, Notes: many})
	const asked = "<function return=\"ANSWER.sh\" input=\"&gt; a &amp; b\n&gt; \n&gt; &lt;c&gt;\n&gt; d \">EXAMINE.md</function>\n"
	for _, run := range []string{"a-1", "b-2", "b-2", "c-3"} {
		p.env["RAYMOND_WORKFLOW_ID"] = run
		p.want("1_START.sh", "", "<fork next=\"WAIT.sh\" issue=\"7\">ITEM.sh</fork>\n")
		p.want("ITEM.sh", "", asked)
	}
	p.env["RAYMOND_WORKFLOW_ID"] = "d-4"
	p.want("ITEM.sh", "", "<result>issue 7: nothing left to do</result>\n")
	p.want("1_START.sh", "", "<result>nothing to do</result>\n")
	i := p.forge.Issue(7)
	if len(i.Notes) != 121 || !strings.Contains(i.Notes[120].Body, "3 times and came to no end") || len(i.Labels) > 0 {
		t.Errorf("issue: got the labels %q and %d comments, the last one %+v; want no label and one more comment, which says why",
			i.Labels, len(i.Notes), i.Notes[len(i.Notes)-1])
	}
}

// TestAnAnswerIsGivenOnce: again after a crash it changes nothing, and what was closed
// or unlabelled meanwhile is left alone.
func TestAnAnswerIsGivenOnce(t *testing.T) {
	t.Parallel()
	p := newScripted(t, "scheduled-poll")
	p.forge.AddIssue(Issue{Number: 7, Title: "a", Labels: []string{"examine"}})
	p.forge.AddIssue(Issue{Number: 8, Title: "b", Labels: []string{"examine"}, State: "closed"})
	p.forge.AddIssue(Issue{Number: 9, Title: "c"})
	for _, text := range []string{"first", "second"} {
		p.want("ANSWER.sh", text, "<result>issue 7: answered</result>\n")
	}
	if i := p.forge.Issue(7); len(i.Notes) != 1 || !strings.Contains(i.Notes[0].Body, "```text\nfirst\n```") || len(i.Labels) > 0 {
		t.Errorf("issue: got %+v, want the first answer and no label", i)
	}
	for _, n := range []string{"8", "9"} {
		p.env["RAYMOND_VAR_ISSUE"] = n
		p.want("ITEM.sh", "", "<result>issue "+n+": nothing left to do</result>\n")
	}
	p.env["RAYMOND_VAR_ISSUE"] = "7/comments"
	if out, errs, err := p.script("ITEM.sh", ""); err == nil {
		t.Errorf("ITEM.sh of no number: got %q, %q, want it to fail", out, errs)
	}
	if asked := p.forge.Requests("POST"); len(asked) != 1 {
		t.Errorf("requests to write: got %v, want one", asked)
	}
}

// TestAForgeThatCannotBeReachedIsNoMissingPermission: what is told is what happened,
// and nothing is changed.
func TestAForgeThatCannotBeReachedIsNoMissingPermission(t *testing.T) {
	t.Parallel()
	p := newPushing(t)
	payload := p.commit("third\n")
	token := p.env["GITHUB_TOKEN"]
	p.env["GITHUB_TOKEN"] = "ghs_wrong"
	if out, errs, err := p.script("PUSH.sh", payload); err == nil || out != "" || !strings.Contains(errs, "doesn't accept the token") {
		t.Errorf("PUSH.sh with a wrong token: got %q, %q, %v; want it told as that", out, errs, err)
	}
	p.env["GITHUB_TOKEN"] = token
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	p.env["GITHUB_SERVER_URL"], p.env["GITHUB_API_URL"] = gone.URL, gone.URL
	for script, want := range map[string]string{"PUSH.sh": gone.URL + " can't be reached", "PULL_REQUEST.sh": gone.URL + " can't be reached (ECONNREFUSED)"} {
		out, errs, err := p.script(script, payload)
		if err == nil || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "write") {
			t.Errorf("%s without a forge: got %q, %q, %v; want %q and no word of permissions", script, out, errs, err, want)
		}
	}
}
