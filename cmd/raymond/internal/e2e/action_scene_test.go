//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

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

// claims returns the claims that are stored.
func (s *scene) claims() []artifactstest.Artifact {
	var out []artifactstest.Artifact
	for _, a := range s.forge.All() {
		if strings.HasSuffix(a.Name, "-claim") {
			out = append(out, a)
		}
	}
	return out
}

// releaseSecondState creates the file that the second state of spendingWorkflow waits for.
func (s *scene) releaseSecondState() {
	s.t.Helper()
	assert.NilError(s.t, os.WriteFile(s.effects+".go", nil, 0o600))
}
