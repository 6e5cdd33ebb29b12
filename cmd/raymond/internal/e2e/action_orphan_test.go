//go:build linux

package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// patientCLI is an agent CLI that works until it is stopped.
const patientCLI = `#!/bin/sh
[ "$1" = --version ] && echo '2.1.330 (stand-in)' && exit
echo $$ >"$EFFECTS.agent"
exec sleep 300
`

// startBelowRunner starts a step with a working agent, as a child of a process that acts as the runner. That process is bash,
// the only shell that passes on variables whose names contain a hyphen.
func startBelowRunner(t *testing.T, s *scene, stdout *os.File) (runner *exec.Cmd, agent int, j *bareJob) {
	t.Helper()
	j = s.job(1)
	cli := filepath.Join(j.Root, "claude")
	j.Site.Write(cli, patientCLI)
	assert.NilError(t, os.Chmod(cli, 0o755))
	j.withInputs("clis", "claude="+cli)
	j.Prepare("action")
	runner = exec.Command("/bin/bash", "-c", `"$0" action; :`, j.bin)
	runner.Dir, runner.Env, runner.Stdout, runner.Stderr = j.Work, j.environment(), stdout, nil
	assert.NilError(t, runner.Start())
	t.Cleanup(func() {
		_ = runner.Process.Kill()
		_ = runner.Wait()
	})
	sitetest.Eventually(t, "the agent", func() bool {
		data, _ := os.ReadFile(s.effects + ".agent") // missing until the agent has started
		agent, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return agent != 0
	})
	return runner, agent, j
}

// TestDeathOfTheRunnerEndsTheRun kills the runner, so that the post phase never starts. The test checks that the agent
// ends and that the run is stored nevertheless, so that the next job resumes it.
func TestDeathOfTheRunnerEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]func(t *testing.T, runner *exec.Cmd, reader *os.File){
		"killed": func(t *testing.T, runner *exec.Cmd, _ *os.File) {
			assert.NilError(t, runner.Process.Kill())
		},
		"deaf": func(_ *testing.T, _ *exec.Cmd, reader *os.File) { reader.Close() },
	} {
		s := newScene(t, spendingWorkflow)
		reader, writer, err := os.Pipe()
		assert.NilError(t, err)
		go io.Copy(io.Discard, reader) // until the pipe is closed
		runner, agent, j := startBelowRunner(t, s, writer)
		writer.Close()
		dies(t, runner, reader)
		sitetest.Eventually(t, "the end of the agent", func() bool { return !sitetest.Alive(agent) })
		var stored []sitetest.StoredRun
		// Only root can see the process of the step itself in /proc.
		sitetest.Eventually(t, name+": the end of the step, the run stored as cancelled, and its key given up", func() bool {
			stored = s.forge.Checkpoints(t, nil)
			isStored := len(stored) > 0 && stored[len(stored)-1].Manifest.Status == "cancelled"
			hasClaim := slices.ContainsFunc(s.forge.All(), func(a artifactstest.Artifact) bool { return strings.HasSuffix(a.Name, "-claim") })
			return isStored && !hasClaim && len(j.Site.Processes()) == 0
		})
		s.forge.ChangeRun(1, func(run *artifactstest.Run) { run.Status = "completed" })
		assert.NilError(t, os.WriteFile(s.effects+".go", nil, 0o600))
		e := s.job(2).withInputs("clis", "claude="+sitetest.Stub.Path(t)).do(0)
		e.WantOutputs(t, "workflow-id", stored[0].Manifest.WorkflowID, "status", "completed")
	}
}
