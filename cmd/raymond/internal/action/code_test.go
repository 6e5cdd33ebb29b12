//go:build linux

package action_test

import (
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// released has the job use an action that lies as a release has it.
func (j *bareJob) released() (shim string) {
	j.t.Helper()
	folder := filepath.Join(j.root, "actions", "o", "raymond", "v1")
	shim = filepath.Join(folder, "cmd", "shim")
	j.write(filepath.Join(folder, "action.yml"), "runs: {using: node24, main: cmd/shim/main.js, post: cmd/shim/post.js}\n")
	for _, name := range []string{"main.js", "post.js", "raymond.js"} {
		j.write(filepath.Join(shim, name), "the code")
	}
	j.program = filepath.Join(shim, "bin", "raymond-linux-amd64")
	j.write(j.program, "the program")
	j.set("RAYMOND_SHIM", shim, "ACTION", folder).with("env", "ACTION")
	return shim
}

// TestCodeOfTheActionIsNotReplaced: the post part would run it, with the secrets of the
// job. The step fails and names the file, and what it was is there again. Package owncode
// has the ways to replace it.
func TestCodeOfTheActionIsNotReplaced(t *testing.T) {
	t.Parallel()
	j := newJob(t, sitetest.NewForge(t), folder(t, "-- wf/START.sh --\necho evil >\"$ACTION/cmd/shim/post.js\"; echo '<result>done</result>'\n"), 1)
	post := filepath.Join(j.released(), "post.js")
	e := j.do(problem.ExitCodes[problem.ClassDenied])
	e.WantOutputs(t, "status", "completed", "error-class", "denied")
	e.WantSays(t, "error", post, "code of this action", "put back")
	if got := sitetest.Read(j.t, post); got != "the code" {
		t.Errorf("%s: got %q, want what it was", post, got)
	}
}
