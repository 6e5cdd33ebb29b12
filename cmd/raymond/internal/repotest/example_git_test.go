package repotest

import (
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gotest.tools/v3/assert"
)

// take makes the forge's repository a copy of one.
func (f *Forge) take(repo string) {
	f.t.Helper()
	assert.NilError(f.t, os.MkdirAll(filepath.Dir(f.Bare), 0o755))
	f.runGit("clone", "--quiet", "--bare", repo, f.Bare)
}

// git serves the repository over HTTP.
func (f *Forge) git(w http.ResponseWriter, r *http.Request) {
	h := cgi.Handler{
		Path: filepath.Join(f.runGit("--exec-path"), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(filepath.Dir(f.Bare)), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=job",
			"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		},
	}
	h.ServeHTTP(w, r)
}

// Git runs git in the forge's repository and returns what it prints.
func (f *Forge) Git(args ...string) string {
	f.t.Helper()
	return f.runGit(append([]string{"--git-dir", f.Bare}, args...)...)
}

func (f *Forge) runGit(args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com")
	out, err := cmd.CombinedOutput()
	assert.Check(f.t, err, "git %q:\n%s", args, out)
	return strings.TrimSpace(string(out))
}

// commit is what a branch of the forge is at; "" when there is no such branch.
func (f *Forge) commit(branch string) string {
	out, err := exec.Command("git", "--git-dir", f.Bare, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
