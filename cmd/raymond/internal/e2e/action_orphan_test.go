//go:build linux

package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// patient is an agent CLI that works until it is ended.
const patientCLI = `#!/bin/sh
[ "$1" = --version ] && echo '2.1.330 (stand-in)' && exit
echo $$ >"$EFFECTS.agent"
exec sleep 300
`

// orphan is a step whose agent works, below a process that stands for the runner.
// Of shells, bash alone hands on variables whose names have a hyphen.
func orphan(t *testing.T, s *scene, stdout *os.File) (runner *exec.Cmd, agent int, j *bareJob) {
	t.Helper()
	j = s.job(1)
	cli := filepath.Join(j.Root, "claude")
	j.Site.Write(cli, patientCLI)
	assert.NilError(t, os.Chmod(cli, 0o755))
	j.with("claude-path", cli)
	j.Prepare("action")
	runner = exec.Command("/bin/bash", "-c", `"$0" action; :`, j.bin)
	runner.Dir, runner.Env, runner.Stdout, runner.Stderr = j.Work, j.environment(), stdout, nil
	assert.NilError(t, runner.Start())
	t.Cleanup(func() {
		_ = runner.Process.Kill()
		_ = runner.Wait()
	})
	sitetest.Eventually(t, "the agent", func() bool {
		data, _ := os.ReadFile(s.effects + ".agent") // not there yet
		agent, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return agent != 0
	})
	return runner, agent, j
}

// TestTheRunnersDeathEndsTheRun: nobody sees the step any more, and no post part
// comes. The agent ends, and the run is stored all the same, so that the next job
// resumes it.
func TestTheRunnersDeathEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]func(t *testing.T, runner *exec.Cmd, reader *os.File){
		"killed": func(t *testing.T, runner *exec.Cmd, _ *os.File) {
			assert.NilError(t, runner.Process.Kill())
		},
		"deaf": func(_ *testing.T, _ *exec.Cmd, reader *os.File) { reader.Close() },
	} {
		s := newScene(t, spending)
		reader, writer, err := os.Pipe()
		assert.NilError(t, err)
		go io.Copy(io.Discard, reader) // as long as it is open
		runner, agent, j := orphan(t, s, writer)
		writer.Close()
		dies(t, runner, reader)
		sitetest.Eventually(t, "the end of the agent", func() bool { return !sitetest.Alive(agent) })
		var stored []sitetest.StoredRun
		// Who is not root can't see whose process the step itself is.
		sitetest.Eventually(t, name+": the end of the step, the run stored as cancelled, and its key given up", func() bool {
			stored = s.forge.Checkpoints(t, nil)
			isStored := len(stored) > 0 && stored[len(stored)-1].Manifest.Status == "cancelled"
			return isStored && len(s.claims()) == 0 && len(j.Site.Processes()) == 0
		})
		s.forge.ChangeRun(1, func(run *artifactstest.Run) { run.Status = "completed" })
		s.letGo()
		e := s.job(2).with("claude-path", sitetest.Stub.Path(t)).do(0)
		e.WantOutputs(t, "workflow-id", stored[0].Manifest.WorkflowID, "status", "completed")
	}
}
