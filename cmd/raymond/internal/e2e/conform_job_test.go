//go:build linux && world

package e2e

import (
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/clitest"
)

// keyInputs maps the variable in which a CLI expects its API key to the input that passes it.
var keyInputs = map[string]string{
	"ANTHROPIC_API_KEY": "anthropic-api-key", "CLAUDE_CODE_OAUTH_TOKEN": "claude-code-oauth-token", "OPENAI_API_KEY": "openai-api-key",
	"GEMINI_API_KEY": "gemini-api-key",
}

// relay is a run that is continued by several jobs, each on its own machine.
type relay struct {
	t         *testing.T
	forge     *sitetest.Forge
	repo      string
	vendor    clitest.Vendor
	url, path string // the address of the model's API, and the path of the agent CLI
}

// newRelay prepares a workflow and its repository; no job has run yet.
func newRelay(t *testing.T, v clitest.Vendor, m *player, workflow string) *relay {
	t.Helper()
	repo := sitetest.Repository(t, regexp.MustCompile(`(?m)^-- `).ReplaceAllString(workflow, "-- wf/"))
	return &relay{t, sitetest.NewForge(t), repo, v, v.Serve(t, m.answer), install(t, v)}
}

// run runs the action in a job with a new home folder and a new checkout, and checks its exit code. run is the number of
// the workflow run.
func (r *relay) run(code int, run int64, inputs ...string) {
	r.t.Helper()
	j := sitetest.NewJob(r.t, r.forge, r.repo, run)
	maps.Copy(j.Inputs, map[string]string{"budget": "0", "agent": r.vendor.Name})
	for _, v := range r.vendor.Environ(r.t, r.url, j.Env["HOME"]) {
		name, value, _ := strings.Cut(v, "=")
		if input := keyInputs[name]; input != "" {
			j.Inputs[input] = value
			continue
		}
		if j.Env[name] = value; strings.HasPrefix(name, "COMMANDTEST_") || strings.HasPrefix(name, "CLAUDE_CODE_") || name == "IS_SANDBOX" {
			j.Inputs["env"] += " " + name
		}
	}
	if flags := r.vendor.Flags(r.path); flags[0] == "--agent-command" {
		j.Inputs["agent-command"], j.Inputs["cage-read"] = flags[1], filepath.Dir(r.path)
	} else {
		j.Inputs["clis"] = r.vendor.Name + "=" + r.path
	}
	for in := range slices.Chunk(inputs, 2) {
		j.Inputs[in[0]] = in[1]
	}
	j.Prepare("action")
	cmd := exec.Command(sitetest.Raymond.Path(r.t), "action")
	cmd.Dir, cmd.Env = j.Work, j.Environ()
	o := waitLong(sitetest.Begin(r.t, cmd))
	assert.Equal(r.t, o.Code, code, "job %d: %v", run, o)
}

// checkCarried shows that a later job continues the conversation on another machine, with another home
// folder and another working directory. The cages of both jobs allow connections only to the key proxy.
func checkCarried(t *testing.T, v clitest.Vendor) {
	model := &player{}
	r := newRelay(t, v, model, waiting)
	held := []string{"cage", "require", "network", "none"}
	if v.Name == protocol.BackendCommand {
		held = nil // the CLI calls its API directly, without a key proxy
	}
	r.run(problem.ExitCodes[problem.ClassOverLimit], 1, append(held, "max-iterations", "1")...)
	r.run(0, 2, append(held, "resume", "require", "max-iterations", "9")...)
	m := &machine{Site: &sitetest.Site{T: t}, model: model}
	m.wantShown("First prompt.", "Second prompt. wait here")
}
