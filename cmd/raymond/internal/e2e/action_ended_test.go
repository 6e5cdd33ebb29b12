//go:build linux

package e2e

import (
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// stepEnd is everything the runner sees of a step that has ended.
type stepEnd = sitetest.StepEnd

// do runs the main phase of the step, which must exit with code, and then ends the workflow run.
func (j *bareJob) do(code int) stepEnd {
	j.T.Helper()
	e := j.end(j.start())
	assert.Equal(j.T, e.Code, code, "step of workflow run %d, inputs %q: got %v\nwant exit code %d", j.Run, j.Inputs, e, code)
	return e
}

func (j *bareJob) end(c *sitetest.Command) stepEnd {
	j.T.Helper()
	e := sitetest.ReadStepEnd(j.T, c.Wait(), j.CommandFile)
	if left := j.Site.Processes(); len(left) > 0 {
		j.T.Errorf("processes after the step: got %v, want none", sitetest.Describe(left))
	}
	if j.Forge != nil {
		j.Forge.ChangeRun(j.Run, func(run *artifactstest.Run) { run.Status = "completed" })
	}
	return e
}
