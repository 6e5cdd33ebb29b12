//go:build linux

package e2e

import (
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// ended is what a step has left behind.
type ended = sitetest.Ended

// do runs the step's main part, which must end with the given code, and then the
// workflow run is over.
func (j *bareJob) do(code int) ended {
	j.t.Helper()
	e := j.end(j.start())
	if e.Code != code {
		j.t.Fatalf("step of workflow run %d, inputs %q: got %v\nwant exit code %d", j.run, j.inputs, e, code)
	}
	return e
}

func (j *bareJob) end(c *sitetest.Command) ended {
	j.t.Helper()
	e := sitetest.End(j.t, c.Wait(), j.commandFile)
	if left := j.site.Processes(); len(left) > 0 {
		j.t.Errorf("processes after the step: got %v, want none", sitetest.Describe(left))
	}
	if j.forge != nil {
		j.forge.ChangeRun(j.run, func(run *artifactstest.Run) { run.Status = "completed" })
	}
	return e
}
