//go:build linux

package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// commandFileWorkflow is a workflow whose script writes to all command files that it finds. The script leaves a daemon that
// continues to write there. The daemon's environment lacks the run's mark, by which raymond finds the run's processes.
const commandFileWorkflow = `-- wf/START.sh --
folder=$RUNNER_TEMP/_runner_file_commands
for f in $(find "$RUNNER_TEMP" -type f -not -path '*/raymond/*' -not -name event.json); do
	printf 'evil<<E\ninjected\nE\nresult=injected\n' >>"$f"
done
echo 'echo $$ >"$1/daemon.pid"
while :; do
	echo result=late >>"$2/output"; echo LD_PRELOAD=/late.so >>"$2/env"; /bin/sleep 0.01
done' >daemon
env -i /usr/bin/setsid /bin/bash daemon "$PWD" "$folder" </dev/null >/dev/null 2>&1 &
until [ -s daemon.pid ]; do sleep 0.01; done
echo '<result>honest</result>'
`

// TestScriptsCannotWriteCommandFiles shows that lines which a script appends to command files have no effect, and that
// the step fails and names the files.
func TestScriptsCannotWriteCommandFiles(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	j := newJob(t, f, sitetest.Repository(t, commandFileWorkflow), 1).withInputs("cage", "off")
	e := j.do(problem.ExitCodes[problem.ClassDenied])
	for _, name := range sitetest.RunnerFiles {
		e.WantAnnotation(t, "error", "raymond: denied", name)
		assert.Check(t, is.Contains(e.Stderr, name), "stderr")
	}
	e.WantOutputs(t, "result", "honest", "status", "completed", "error-class", "denied", "evil", "")
	for _, name := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_ARTIFACTS"} {
		assert.Check(t, is.Equal(sitetest.Read(t, j.CommandFile(name)), ""), name)
	}
	assert.Check(t, is.DeepEqual(sitetest.ReadOutputs(t, sitetest.Read(t, j.CommandFile("GITHUB_STATE"))), map[string]string{sitetest.PartState: "1"}))
	assert.Check(t, !strings.Contains(e.Summary, "injected"), "summary: got %q, want nothing of a script's", e.Summary)
	if !strings.HasPrefix(e.Summary, "## ❌ Error") || !strings.Contains(e.Summary, "GITHUB_OUTPUT") {
		t.Errorf("summary: got %.500q, want it to begin with what failed the step", e.Summary)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(sitetest.Read(j.T, filepath.Join(j.Work, "daemon.pid"))))
	assert.Check(t, err, "daemon %d", pid)
	assert.Check(t, !sitetest.Alive(pid), "daemon %d: got it alive after the step (%v), want it gone", pid, err)
}
