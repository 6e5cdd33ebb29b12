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

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: j.as}
	return sitetest.Begin(j.T, cmd)
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

// modelKey looks like a real API key.
const modelKey = "sk-ant-api03-Zm9vYmFyYmF6cXV4-0123456789"

// spendingWorkflow is a workflow whose first state is a prompt that causes cost. Its agent records that it was started. The
// second state waits for a file.
const spendingWorkflow = `-- wf/START.md --
log: asked
reply:
<goto>HOLD.sh</goto>
end.
-- wf/HOLD.sh --
until [ -e "$EFFECTS.go" ]; do sleep 0.05; done
echo '<result>done</result>'
`

// scene is a repository, a fake GitHub, and the file to which runs write their effects.
type scene struct {
	t       *testing.T
	forge   *sitetest.Forge
	repo    string
	effects string
}

func newScene(t *testing.T, archive string) *scene {
	t.Helper()
	return &scene{t, sitetest.NewForge(t), sitetest.Repository(t, archive), filepath.Join(t.TempDir(), "effects")}
}

// job returns a job of the workflow run with the given number, on a new machine.
func (s *scene) job(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return newJob(s.t, s.forge, s.repo, run).setVariables("EFFECTS", s.effects, "SIDE_EFFECTS", s.effects).
		withInputs("env", "EFFECTS SIDE_EFFECTS").withInputs(inputs...)
}

// wrapCLI makes the job use an agent CLI that writes its arguments and its environment to files in the folder notes, runs
// the shell commands in more, and then runs the stub.
func (j *bareJob) wrapCLI(more string) (notes string) {
	j.T.Helper()
	notes = filepath.Join(j.Root, "notes")
	path := filepath.Join(j.Root, "claude")
	j.Site.Write(path, "#!/bin/bash\n[ \"$1\" = --version ] && { echo '2.1.330 (wrapped stub)'; exit; }\n"+
		"mkdir -p "+notes+"\nprintf '%s\\n' \"$@\" >"+notes+"/args\nenv -0 >"+notes+"/env\n"+more+"\nexec "+j.stub+" \"$@\"\n")
	assert.NilError(j.T, os.Chmod(path, 0o755))
	j.withInputs("clis", "claude="+path)
	return notes
}
