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

// modelKey is a key as they look.
const modelKey = "sk-ant-api03-Zm9vYmFyYmF6cXV4-0123456789"

// spending is a workflow that begins with a prompt, whose agent says that it was
// asked; the second state waits for a file.
const spending = `-- wf/START.md --
log: asked
reply:
<goto>HOLD.sh</goto>
end.
-- wf/HOLD.sh --
until [ -e "$EFFECTS.go" ]; do sleep 0.05; done
echo '<result>done</result>'
`

// scene is a repository and its forge, and what its runs do.
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

// job begins the job of another workflow run, on another machine.
func (s *scene) job(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return newJob(s.t, s.forge, s.repo, run).set("EFFECTS", s.effects, "SIDE_EFFECTS", s.effects).
		with("env", "EFFECTS SIDE_EFFECTS").with(inputs...)
}

// wrapped is an agent CLI that notes its arguments and its environment and
// whatever else a script says, and then is the stub.
func (j *bareJob) wrapped(more string) (notes string) {
	j.T.Helper()
	notes = filepath.Join(j.Root, "notes")
	path := filepath.Join(j.Root, "claude")
	j.Site.Write(path, "#!/bin/bash\n[ \"$1\" = --version ] && { echo '2.1.330 (wrapped stub)'; exit; }\n"+
		"mkdir -p "+notes+"\nprintf '%s\\n' \"$@\" >"+notes+"/args\nenv -0 >"+notes+"/env\n"+more+"\nexec "+j.stub+" \"$@\"\n")
	assert.NilError(j.T, os.Chmod(path, 0o755))
	j.with("claude-path", path)
	return notes
}

// claims are the claims that stand.
func (s *scene) claims() []artifactstest.Artifact {
	var out []artifactstest.Artifact
	for _, a := range s.forge.All() {
		if strings.HasSuffix(a.Name, "-claim") {
			out = append(out, a)
		}
	}
	return out
}

// letGo ends the wait of spending.
func (s *scene) letGo() {
	s.t.Helper()
	assert.NilError(s.t, os.WriteFile(s.effects+".go", nil, 0o600))
}
