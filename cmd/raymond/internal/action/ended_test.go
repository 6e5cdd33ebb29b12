//go:build linux

package action_test

import (
	"os"
	"path/filepath"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// ended is the outcome of a step.
type ended = sitetest.StepEnd

// do runs the main phase of the step, which must end with the given code, and completes the
// workflow run.
func (j *bareJob) do(code int) ended {
	j.T.Helper()
	e := j.end(j.start())
	assert.Equal(j.T, e.Code, code, "step of workflow run %d, inputs %q: got %v\nwant exit code %d", j.Run, j.Inputs, e, code)
	return e
}

func (j *bareJob) end(c *running) ended {
	j.T.Helper()
	e := sitetest.ReadStepEnd(j.T, c.Wait(), j.CommandFile)
	if j.Forge != nil {
		j.Forge.ChangeRun(j.Run, func(run *artifactstest.Run) { run.Status = "completed" })
	}
	return e
}

// stateFiles returns the files in the directories of the job's steps.
func (j *bareJob) stateFiles() []string {
	var files []string
	_ = filepath.WalkDir(filepath.Join(j.Temp, "raymond"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 { // an empty integrity log doesn't count
			files = append(files, path)
		}
		return nil // a missing directory has no files
	})
	return files
}
