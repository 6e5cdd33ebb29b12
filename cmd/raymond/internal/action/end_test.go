//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestPostReportsARunItCannotStore checks that if inputs have changed since the main phase, the
// post phase fails with an error and the run stays on the machine.
func TestPostReportsARunItCannotStore(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "flag")
	repo := folder(t, "-- wf/START.sh --\ntouch \"$FLAG\"; exec sleep 300\n")
	j := newJob(t, sitetest.NewForge(t), repo, 541).set("FLAG", flag).with("env", "FLAG")
	c := j.start()
	c.Until("the script", func() bool { return sitetest.Exists(flag) })
	c.Kill()
	j.with("budget", "NaN")
	if e := j.end(j.command("action-post")); e.Code != problem.ExitCodes[problem.ClassUsage] || !strings.Contains(e.Stderr, "input budget") {
		t.Errorf("post: got %v, want the fault of the input", e)
	}
	assert.Check(t, sitetest.Exists(j.StepDir()), "after a post part that has stored nothing: got the run removed")
}

// TestSlowGitDoesNotDelayTheStep checks that the step ends soon after a signal although git matches
// an agent's pattern for hours.
func TestSlowGitDoesNotDelayTheStep(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	j := newJob(t, f, sitetest.Repository(t, "-- wf/START.sh --\nmkdir -p d/e; touch d/e/$(printf 'a%.0s' {1..250})c; echo \"$PATTERN\" > d/e/.gitignore; mkfifo d/.gitignore; echo '<result>x</result>'\n"), 542).
		set("PATTERN", strings.Repeat("*a", 24)+"*b").with("env", "PATTERN")
	c, pipe := j.start(), filepath.Join(j.Work, "d/.gitignore")
	c.Until("the script", func() bool { return sitetest.Exists(pipe) })
	assert.NilError(t, os.WriteFile(pipe, nil, 0)) // returns when git reads the pipe
	c.Signal(syscall.SIGINT)
	j.end(c)
	assert.Check(t, len(f.Checkpoints(t, nil)) == 0, "got a checkpoint, want that git was killed before it had one")
}
