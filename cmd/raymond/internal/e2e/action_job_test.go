//go:build linux

package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// bareJob is a job that runs the built program with the stub as its agent CLI.
type bareJob struct {
	*sitetest.Job
	bin  string
	stub string              // path of the stub that serves as agent CLI
	as   *syscall.Credential // the user who runs the step; nil means the user who runs the test
}

func newJob(t testing.TB, f *sitetest.Forge, repo string, run int64) *bareJob {
	t.Helper()
	return &bareJob{Job: sitetest.NewJob(t, f, repo, run), bin: sitetest.Raymond.Path(t), stub: sitetest.Stub.Path(t)}
}

// withInputs sets inputs, given as names and values in turn.
func (j *bareJob) withInputs(pairs ...string) *bareJob {
	for i := 0; i < len(pairs); i += 2 {
		j.Inputs[pairs[i]] = pairs[i+1]
	}
	return j
}

// setVariables sets environment variables, given as names and values in turn.
func (j *bareJob) setVariables(pairs ...string) *bareJob {
	for i := 0; i < len(pairs); i += 2 {
		j.Env[pairs[i]] = pairs[i+1]
	}
	return j
}

// start starts the main phase of the step.
func (j *bareJob) start() *sitetest.Command { return j.command("action") }

// environment returns the environment of a phase of the step. Unless the test sets the inputs itself, the cage
// lets agents write their notes and read the stub.
func (j *bareJob) environment() []string {
	job := *j.Job
	if job.Inputs = maps.Clone(j.Inputs); job.Inputs["cage"] != "off" {
		for name, value := range map[string]string{"cage-write": strings.Join(j.notes(), "\n"), "cage-read": sitetest.Builds} {
			if _, given := job.Inputs[name]; !given {
				job.Inputs[name] = value
			}
		}
	}
	return job.Environ()
}

// notes returns the folders outside the checkout to which agents write what they do, for the tests to
// read.
func (j *bareJob) notes() []string {
	folders := []string{filepath.Join(j.Root, "notes")}
	for _, name := range []string{"EFFECTS", "SIDE_EFFECTS"} {
		if file := j.Env[name]; file != "" {
			folders = append(folders, filepath.Dir(file))
		}
	}
	return folders
}

func (j *bareJob) command(part string) *sitetest.Command {
	j.T.Helper()
	j.Prepare(part)
	if j.as != nil {
		changeOwner(j.T, j.Root, j.as)
	}
	cmd := exec.Command(j.bin, part)
	cmd.Dir, cmd.Env = j.Work, j.environment()
	if j.Env["RAYMOND_SHIM_STDIN"] != "" {
		j.giveStdin(cmd)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: j.as}
	return sitetest.Begin(j.T, cmd)
}

// giveStdin gives a command an open pipe as stdin, as the shim does. The end of the input would mean that the shim has died.
func (j *bareJob) giveStdin(cmd *exec.Cmd) {
	j.T.Helper()
	r, w, err := os.Pipe()
	assert.NilError(j.T, err)
	cmd.Stdin = r
	j.T.Cleanup(func() { r.Close(); w.Close() })
}

// publishPrograms copies the programs to a folder from which any user can run them.
func (j *bareJob) publishPrograms() {
	j.T.Helper()
	for _, dir := range []string{filepath.Dir(j.Root), j.Root} {
		assert.NilError(j.T, os.Chmod(dir, 0o755))
	}
	copied := filepath.Join(j.Root, "bin")
	for _, p := range []*sitetest.Program{sitetest.Raymond, sitetest.Stub} {
		data, err := os.ReadFile(p.Path(j.T))
		assert.NilError(j.T, err)
		j.Site.Write(filepath.Join(copied, p.Name), string(data))
		assert.NilError(j.T, os.Chmod(filepath.Join(copied, p.Name), 0o755))
	}
	j.bin, j.stub = filepath.Join(copied, sitetest.Raymond.Name), filepath.Join(copied, sitetest.Stub.Name)
}

// changeOwner changes the owner of a folder and of everything in it.
func changeOwner(t testing.TB, root string, to *syscall.Credential) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, int(to.Uid), int(to.Gid))
		}
		return err
	})
	assert.NilError(t, err)
}
