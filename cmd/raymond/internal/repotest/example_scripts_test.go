package repotest

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// scriptRunner runs the scripts of an example one by one, as raymond would.
type scriptRunner struct {
	t     testing.TB
	forge *Forge
	work  string
	env   map[string]string
}

func newScriptRunner(t testing.TB, example string) *scriptRunner {
	t.Helper()
	f := newForge(t)
	// This process reads the scripts, so that the go command knows the test depends on them and reruns it when
	// they change.
	scope := t.TempDir()
	assert.NilError(t, os.CopyFS(scope, os.DirFS(filepath.Join(root, "examples", example))))
	return &scriptRunner{t: t, forge: f, work: t.TempDir(), env: map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "TMPDIR": t.TempDir(), "GITHUB_ACTIONS": "true", "RAYMOND_WORKFLOW_ID": "w",
		"GITHUB_TOKEN": token, "PUSH_TOKEN": token, "GITHUB_SERVER_URL": f.URL, "GITHUB_API_URL": f.URL + "/api", "GITHUB_REPOSITORY": "o/r",
		"RAYMOND_SCOPE": scope, "RAYMOND_VAR_ISSUE": "7", "RAYMOND_VISITS": "1",
	}}
}

// newPushRunner prepares the scripts of an example with a shallow checkout, as actions/checkout makes it.
func newPushRunner(t testing.TB, example string) *scriptRunner {
	t.Helper()
	p := newScriptRunner(t, example)
	repo := sitetest.Repository(t, "-- a.txt --\nfirst\n")
	sitetest.Commit(t, repo, "-- a.txt --\nsecond\n")
	p.forge.cloneFrom(repo)
	p.work = filepath.Join(t.TempDir(), "work")
	sitetest.Git(p.t, "", "clone", "--quiet", "--depth", "1", "file://"+p.forge.Bare, p.work)
	event := filepath.Join(t.TempDir(), "event.json")
	p.write(event, `{"repository":{"default_branch":"main"}}`)
	p.env["GITHUB_EVENT_PATH"], p.env["GITHUB_SHA"], p.env["RAYMOND_VAR_RUN"] = event, p.forge.Git("rev-parse", "main"), "17"
	return p
}

func (p *scriptRunner) write(path, text string) {
	p.t.Helper()
	assert.NilError(p.t, os.WriteFile(path, []byte(text), 0o644))
}

// script runs one script with a payload and returns its output.
func (p *scriptRunner) script(name, payload string) (stdout, stderr string, err error) {
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
	if strings.Contains(out.String()+errs.String(), token) {
		p.t.Errorf("%s: got the token in %q, %q", name, out.String(), errs.String())
	}
	return out.String(), errs.String(), err
}

// want runs one script, which must succeed, and checks its output.
func (p *scriptRunner) want(name, payload, want string) {
	p.t.Helper()
	if out, errs, err := p.script(name, payload); err != nil || out != want {
		p.t.Errorf("%s with %q: got %q, %q, %v; want %q", name, payload, out, errs, err, want)
	}
}

const said = `said <b> & "c"`

// commit writes a file and runs COMMIT.sh. Then it creates the repository in which raymond hands the work over to scripts.
func (p *scriptRunner) commit(content string) {
	p.t.Helper()
	p.write(filepath.Join(p.work, "a.txt"), content)
	if out, errs, err := p.script("COMMIT.sh", said); err != nil || !strings.HasSuffix(out, "PUSH.sh</goto>\n") {
		p.t.Fatalf("COMMIT.sh: got %q, %q, %v; want a goto", out, errs, err)
	}
	folder := p.t.TempDir()
	repo, lacks := filepath.Join(folder, "work.git"), filepath.Join(folder, "lacks")
	sitetest.Git(p.t, "", "clone", "--quiet", "--bare", "file://"+p.work, repo)
	sitetest.Git(p.t, repo, "update-ref", "refs/heads/work", "HEAD")
	sitetest.Git(p.t, repo, "update-ref", "--no-deref", "HEAD", p.env["GITHUB_SHA"])
	p.write(lacks, "")
	p.env["RAYMOND_WORK"], p.env["RAYMOND_WORK_LACKS"] = repo, lacks
}

const onward = "<goto input=\"said &lt;b&gt; &amp; &quot;c&quot;\">PULL_REQUEST.sh</goto>\n"

func (p *scriptRunner) wantBranch(branch, content string) {
	p.t.Helper()
	assert.Check(p.t, is.Equal(p.forge.Git("show", branch+":a.txt"), strings.TrimSpace(content)), "a.txt on %s: want %q", branch, content)
}

// TestPushCanBeRepeated shows that PUSH.sh, if it is repeated after a crash, pushes nothing again, and that the commit of a
// later run replaces the earlier commit.
func TestPushCanBeRepeated(t *testing.T) {
	t.Parallel()
	p := newPushRunner(t, "issue-to-pr")
	p.advance("main") // the shallow checkout lacks this commit
	p.commit("third\n")
	p.want("PUSH.sh", said, onward)
	p.wantBranch("raymond/issue-7", "third\n")
	p.want("PUSH.sh", said, onward)
	assert.Check(t, is.Equal(len(p.forge.Requests("POST /o/r.git/git-receive-pack")), 1), "pushes")
	sitetest.Git(p.t, p.work, "reset", "--quiet", "--hard", "HEAD~")
	p.commit("other\n")
	p.write(p.env["RAYMOND_WORK_LACKS"], "big.bin: LFS\n")
	p.want("PUSH.sh", said, strings.Replace(onward, "\">", "\n\nNot in this branch:\nbig.bin: LFS\">", 1))
	p.wantBranch("raymond/issue-7", "other\n")
	sitetest.Git(p.t, p.env["RAYMOND_WORK"], "update-ref", "refs/heads/work", "HEAD")
	p.want("PUSH.sh", said, "<result>Nothing of the work can be pushed. said \u2039b> & \"c\"\n\nNot in this branch:\nbig.bin: LFS</result>\n")
	p.wantBranch("raymond/issue-7", "other\n")
}

// TestEachRoundAddsACommit shows that each round adds a commit to the commits of earlier rounds, and doesn't change branches
// of other runs.
func TestEachRoundAddsACommit(t *testing.T) {
	t.Parallel()
	p := newPushRunner(t, "watch-checks")
	assert.NilError(t, os.Mkdir(filepath.Join(p.work, ".github"), 0o755))
	p.write(filepath.Join(p.work, ".github", "a.yml"), "on: push\n")
	p.want("COMMIT.sh", "", "<result>The agent changed nothing outside of .github.</result>\n")
	for round, content := range []string{"third\n", "third\n", "fourth\n"} {
		p.env["RAYMOND_VISITS"] = strconv.Itoa(round + 1)
		p.commit(content)
		want := fmt.Sprintf("<goto input=\"%s %d 1\">CHECKS.sh</goto>\n", sitetest.Git(p.t, p.env["RAYMOND_WORK"], "rev-parse", "work"), round+1)
		p.want("PUSH.sh", "", want)
		p.want("PUSH.sh", "", want)
		p.wantBranch("raymond/checks-17", content)
	}
	assert.Check(t, is.Equal(p.forge.Git("rev-list", "--count", "main..raymond/checks-17"), "3"), "commits of three rounds")
	theirs := p.advance("raymond/checks-17")
	p.commit("fifth\n")
	out, errs, err := p.script("PUSH.sh", "")
	if after := p.forge.Git("rev-parse", "raymond/checks-17"); err == nil || !strings.Contains(errs, "isn't of this run") || after != theirs {
		t.Errorf("PUSH.sh: got %q, %q, %v, the branch at %s; want it left at %s", out, errs, err, after, theirs)
	}
}

// advance adds a commit by another user to a branch on the fake GitHub.
func (p *scriptRunner) advance(branch string) string {
	p.t.Helper()
	commit := p.forge.Git("commit-tree", "-m", "of somebody else", "-p", branch, branch+"^{tree}")
	p.forge.Git("update-ref", "refs/heads/"+branch, commit)
	return commit
}

// TestForeignCommitsAreKept shows that PUSH.sh never overwrites another user's commit, even one that is pushed between the
// script's check and its push. If PUSH.sh runs again then, its error names the author of that commit.
func TestForeignCommitsAreKept(t *testing.T) {
	t.Parallel()
	p := newPushRunner(t, "issue-to-pr")
	p.commit("third\n")
	p.want("PUSH.sh", said, onward)
	sitetest.Git(p.t, p.work, "reset", "--quiet", "--hard", "HEAD~")
	p.commit("other\n")
	theirs := ""
	p.forge.mu.Lock()
	p.forge.before = func(r *http.Request) {
		if theirs == "" && strings.Contains(r.URL.RawQuery, "service=git-receive-pack") {
			theirs = p.advance("raymond/issue-7")
		}
	}
	p.forge.mu.Unlock()
	for _, want := range []string{"", "a commit of test@example.com"} {
		out, errs, err := p.script("PUSH.sh", said)
		if after := p.forge.Git("rev-parse", "raymond/issue-7"); err == nil || !strings.Contains(errs, want) || after != theirs {
			t.Errorf("PUSH.sh: got %q, %q, %v, the branch at %s; want it left at %s, and %q", out, errs, err, after, theirs, want)
		}
	}
}

// TestOnlyIssueNumbersNameBranches shows that PUSH.sh fails before its first request if the variable for the name of the
// branch is not a number.
func TestOnlyIssueNumbersNameBranches(t *testing.T) {
	t.Parallel()
	for example, name := range map[string]string{"issue-to-pr": "RAYMOND_VAR_ISSUE", "watch-checks": "RAYMOND_VAR_RUN"} {
		p := newPushRunner(t, example)
		p.commit("third\n")
		for _, number := range []string{"", "7:refs/heads/main", "../main", "-7", "7\n8", "٧"} {
			p.env[name] = number
			if out, errs, err := p.script("PUSH.sh", said); err == nil || out != "" || !strings.Contains(errs, "is no number") {
				t.Errorf("%s %q: got %q, %q, want it refused", name, number, out, errs)
			}
		}
		assert.Check(t, is.Len(p.forge.Requests(""), 0), "requests")
	}
}

// TestNoPullRequestWithoutChanges checks that COMMIT.sh ends the run if the agents changed nothing, and that PUSH.sh fails
// if the token is missing or GitHub rejects it.
func TestNoPullRequestWithoutChanges(t *testing.T) {
	t.Parallel()
	p := newPushRunner(t, "issue-to-pr")
	p.want("COMMIT.sh", "All is well.", "<result>The agents changed nothing. All is well.</result>\n")
	p.commit("third\n")
	for token, want := range map[string]string{"": "script-env: GITHUB_TOKEN", "ghs_wrong": "doesn't accept the token"} {
		p.env["GITHUB_TOKEN"] = token
		if out, errs, err := p.script("PUSH.sh", said); err == nil || out != "" || !strings.Contains(errs, want) {
			t.Errorf("PUSH.sh with the token %q: got %q, %q, %v; want %q", token, out, errs, err, want)
		}
	}
}

// TestNoItemsMeanNoJobs checks that the example fan-out starts no workers if its input is blank and the repository contains
// no folders. It also checks the maximum number of items, and that items are escaped.
func TestNoItemsMeanNoJobs(t *testing.T) {
	t.Parallel()
	p := newScriptRunner(t, "fan-out")
	p.work = p.forge.Bare
	p.forge.cloneFrom(sitetest.Repository(t, "-- a.txt --\n"))
	p.want("1_START.sh", " \n", "<result>There is nothing to do.</result>\n")
	p.env["RAYMOND_VAR_MOST"] = "2"
	out, errs, err := p.script("1_START.sh", "a <\"&>\nb $(touch pwned) \u2028c\nd")
	const want = "<fork next=\"JOIN.sh\" item=\"a &lt;&quot;&amp;&gt;\">WORK.md</fork>\n<fork next=\"JOIN.sh\" item=\"b $(touch pwned) \u2028c\">WORK.md</fork>\n"
	if err != nil || out != want || !strings.Contains(errs, "more than 2 items") {
		t.Errorf("three items: got %q, %q, %v; want %q and a word on the third", out, errs, err, want)
	}
}
