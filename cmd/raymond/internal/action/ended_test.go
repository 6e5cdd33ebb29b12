//go:build linux

package action_test

import (
	"os"
	"path/filepath"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// ended is what a step has left behind.
type ended = sitetest.Ended

// do runs the step's main part, which must end with the given code, and then the
// workflow run is over.
func (j *bareJob) do(code int) ended {
	j.T.Helper()
	e := j.end(j.start())
	assert.Equal(j.T, e.Code, code, "step of workflow run %d, inputs %q: got %v\nwant exit code %d", j.Run, j.Inputs, e, code)
	return e
}

func (j *bareJob) end(c *running) ended {
	j.T.Helper()
	e := sitetest.End(j.T, c.Wait(), j.CommandFile)
	if j.Forge != nil {
		j.Forge.ChangeRun(j.Run, func(run *artifactstest.Run) { run.Status = "completed" })
	}
	return e
}

// stateFiles are the files below the step's own folder.
func (j *bareJob) stateFiles() []string {
	var files []string
	_ = filepath.WalkDir(filepath.Join(j.Temp, "raymond"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 { // the log of seals is there before it has any
			files = append(files, path)
		}
		return nil // a folder that isn't there has none
	})
	return files
}
