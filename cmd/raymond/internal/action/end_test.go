//go:build linux

package action_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestPostIsNotSilentAboutARunThatItCannotStore: when what the step was given has
// changed since its main part, the run stays on the machine, and people are told.
func TestPostIsNotSilentAboutARunThatItCannotStore(t *testing.T) {
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
	assert.Check(t, sitetest.Exists(j.Own()), "after a post part that has stored nothing: got the run removed")
}
