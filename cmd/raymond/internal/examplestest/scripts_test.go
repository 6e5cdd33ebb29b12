package examplestest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// root is the repository of this package.
const root = "../../../.."

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
	if err := os.CopyFS(scope, os.DirFS(filepath.Join(root, "examples", example))); err != nil {
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
	p.write(event, `{"repository":{"default_branch":"main"}}`)
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

// TestWithoutChangesThereIsNoPullRequest, and without a token that is accepted no push.
func TestWithoutChangesThereIsNoPullRequest(t *testing.T) {
	t.Parallel()
	p := newPushing(t)
	p.want("COMMIT.sh", "All is well.", "<result>The agents changed nothing. All is well.</result>\n")
	payload := p.commit("third\n")
	for token, want := range map[string]string{"": "script-env: GITHUB_TOKEN", "ghs_wrong": "doesn't accept the token"} {
		p.env["GITHUB_TOKEN"] = token
		if out, errs, err := p.script("PUSH.sh", payload); err == nil || out != "" || !strings.Contains(errs, want) {
			t.Errorf("PUSH.sh with the token %q: got %q, %q, %v; want %q", token, out, errs, err, want)
		}
	}
}

// TestNoItemsNoJobs where there is no folder either.
func TestNoItemsNoJobs(t *testing.T) {
	t.Parallel()
	p := newScripted(t, "fan-out")
	p.work = p.forge.Bare
	p.forge.take(acttest.Repository(t, "-- a.txt --\n"))
	p.want("1_START.sh", " \n", "<result>There is nothing to do.</result>\n")
	p.env["RAYMOND_VAR_MOST"] = "2"
	out, errs, err := p.script("1_START.sh", "a <\"&>\nb $(touch pwned) \u2028c\nd")
	const want = "<fork next=\"JOIN.sh\" item=\"a &lt;&quot;&amp;&gt;\">WORK.md</fork>\n<fork next=\"JOIN.sh\" item=\"b $(touch pwned) \u2028c\">WORK.md</fork>\n"
	if err != nil || out != want || !strings.Contains(errs, "more than 2 items") {
		t.Errorf("three items: got %q, %q, %v; want %q and a word on the third", out, errs, err, want)
	}
}

// TestWhatIsPushedIsChecked: the payload comes from a script that git ran in, and git may be the agent's.
func TestWhatIsPushedIsChecked(t *testing.T) {
	t.Parallel()
	p := newScripted(t, "watch-checks")
	commit := strings.Repeat("a", 40)
	p.env["PUSH_TOKEN"], p.env["RAYMOND_VAR_RUN"] = p.forge.Token, "17"
	for _, payload := range []string{
		"", commit, commit + " 1", commit + " 1 work", "main 1 /work", "--all 1 /work", commit + " a[$(touch${IFS}pwned)] /work", commit + " 08x /work", commit + " -1 /work",
	} {
		if out, errs, err := p.script("PUSH.sh", payload); err == nil || out != "" {
			t.Errorf("payload %q: got %q, %q, want it refused", payload, out, errs)
		}
	}
	p.env["RAYMOND_VAR_RUN"] = "17:refs/heads/main"
	if out, errs, err := p.script("PUSH.sh", commit+" 1 /work"); err == nil || !strings.Contains(errs, "is no number") {
		t.Errorf("a run that is no number: got %q, %q, want it refused", out, errs)
	}
	if asked := p.forge.Requests(""); len(asked) > 0 {
		t.Errorf("requests: got %v, want none", asked)
	}
}
