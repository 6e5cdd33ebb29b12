//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/cmd/shim"
)

// released lays an action out as a release has it, and makes the job use it.
func (j *bareJob) released() (action string) {
	j.t.Helper()
	action = filepath.Join(j.root, "actions", "o", "raymond", "v1")
	if err := os.CopyFS(filepath.Join(action, "cmd", "shim"), shim.Files); err != nil {
		j.t.Fatal(err)
	}
	j.site.Write(filepath.Join(action, "action.yml"), "runs: {using: node24, main: cmd/shim/main.js, post: cmd/shim/post.js}\n")
	j.bin = filepath.Join(action, "cmd", "shim", "bin", "raymond-linux-"+runtime.GOARCH)
	j.site.Write(j.bin, j.read(sitetest.Raymond.Path(j.t)))
	if err := os.Chmod(j.bin, 0o755); err != nil {
		j.t.Fatal(err)
	}
	j.set("RAYMOND_SHIM", filepath.Join(action, "cmd", "shim"), "ACTION", action)
	return j.with("env", "ACTION", "max-iterations", "9").set("ACTION", action).env["ACTION"]
}

// filesIn are the files of a folder and what they hold.
func (j *bareJob) filesIn(dir string) map[string]string {
	j.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[path] = "link or device"
			if d.Type().IsRegular() {
				files[path] = j.read(path)
			}
		}
		return err
	})
	if err != nil {
		j.t.Fatal(err)
	}
	return files
}

// TestCodeOfTheActionIsNotReplaced: the post part would run it, with the secrets of the
// job. The step fails and names the file, and what it was is there again.
func TestCodeOfTheActionIsNotReplaced(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ script, names string }{
		"post.js written":              {`echo evil >"$ACTION/cmd/shim/post.js"`, "cmd/shim/post.js"},
		"raymond.js replaced":          {`echo evil >evil; mv evil "$ACTION/cmd/shim/raymond.js"`, "cmd/shim/raymond.js"},
		"a module beside it":           {`echo evil >"$ACTION/cmd/shim/raymond"`, "cmd/shim/raymond"},
		"another entry point":          {`echo 'runs: {using: node24, post: evil.js}' >"$ACTION/action.yml"`, "action.yml"},
		"the program replaced":         {`cd "$ACTION/cmd/shim/bin"; for f in *; do cp /bin/true evil; mv evil "$f"; done`, "cmd/shim/bin/raymond-linux-" + runtime.GOARCH},
		"a link to elsewhere":          {`cp "$ACTION/cmd/shim/post.js" p.js; echo evil >>p.js; ln -sf "$PWD/p.js" "$ACTION/cmd/shim/post.js"`, "cmd/shim/post.js"},
		"a pipe that nobody writes to": {`rm "$ACTION/cmd/shim/post.js"; mkfifo "$ACTION/cmd/shim/post.js"`, "cmd/shim/post.js"},
		"an endless file":              {`truncate -s 10T "$ACTION/cmd/shim/post.js" || truncate -s 1T "$ACTION/cmd/shim/post.js"`, "cmd/shim/post.js"},
		"the folder moved away":        {`cd "$ACTION/cmd"; mv shim gone; cp -r gone shim; echo evil >shim/post.js`, "cmd/shim/post.js"},
		"all of it removed":            {`rm -rf "$ACTION/cmd" "$ACTION/action.yml"`, "action.yml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := acttest.Repository(t, "-- wf/START.sh --\n"+tt.script+"\necho '<result>done</result>'\n")
			j := newJob(t, sitetest.NewForge(t), repo, 1)
			action := j.released()
			want := j.filesIn(action)
			e := j.do(problem.ExitCodes[problem.ClassDenied])
			e.wantOutputs(t, "status", "completed", "error-class", "denied")
			e.wantSays(t, "error", filepath.Join(action, filepath.FromSlash(tt.names)), "code of this action", "put back")
			for path, text := range want {
				if !sitetest.Exists(path) || j.filesIn(filepath.Dir(path))[path] != text {
					t.Errorf("%s: got something else in its place, want what it was", path)
				}
			}
			if got := j.filesIn(filepath.Join(action, "cmd", "shim")); len(got) != len(want)-1 {
				t.Errorf("files beside the JavaScript: got %d, want the %d of before", len(got), len(want)-1)
			}
			j.endsWell()
		})
	}
}

// endsWell runs the post part by the program that is there now.
func (j *bareJob) endsWell() {
	j.t.Helper()
	if e := j.end(j.command("action-post")); e.Code != 0 {
		j.t.Errorf("post part: got %v, want success", e)
	}
}

// TestHonestStepsLeaveTheActionAlone, even where they work beside it: programs that
// are shipped for other machines may come and go.
func TestHonestStepsLeaveTheActionAlone(t *testing.T) {
	t.Parallel()
	repo := acttest.Repository(t, "-- wf/START.sh --\necho x >\"$ACTION/notes.txt\"; echo x >\"$ACTION/cmd/shim/bin/raymond-plan9-386\"; echo \"<result>shim=$RAYMOND_SHIM</result>\"\n")
	j := newJob(t, sitetest.NewForge(t), repo, 1)
	j.released()
	j.do(0).wantOutputs(t, "status", "completed", "result", "shim=")
}
