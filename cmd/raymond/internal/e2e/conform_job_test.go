//go:build linux && world

package e2e

import (
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
	"github.com/raymond-action/raymond-action/runner/agenttest"
)

// keyInputs are the inputs that bring what a CLI has in its environment.
var keyInputs = map[string]string{
	"ANTHROPIC_API_KEY": "anthropic-api-key", "CLAUDE_CODE_OAUTH_TOKEN": "claude-code-oauth-token", "OPENAI_API_KEY": "openai-api-key",
	"GEMINI_API_KEY": "gemini-api-key",
}

// relay is a run that several jobs continue, each on a machine of its own.
type relay struct {
	t     *testing.T
	forge *sitetest.Forge
	repo  string
	sides []side
}

// side is a vendor of a relay: its API, and the path of its CLI.
type side struct {
	vendor    agenttest.Vendor
	url, path string
}

// newRelay has a workflow that nobody runs yet.
func newRelay(t *testing.T, workflow string) *relay {
	t.Helper()
	return &relay{t: t, forge: sitetest.NewForge(t), repo: sitetest.Repository(t, inFolder(workflow))}
}

// add makes the CLI of a vendor one that the jobs have; the first one is that of the run.
func (r *relay) add(v agenttest.Vendor, m *player) {
	r.t.Helper()
	path := install(r.t, v)
	r.sides = append(r.sides, side{v, v.Serve(r.t, m.answer), path})
}

// begin runs the action in a new home folder and a new checkout.
func (r *relay) begin(run int64, inputs ...string) *sitetest.Command {
	r.t.Helper()
	j := sitetest.NewJob(r.t, r.forge, r.repo, run)
	j.Prepare("action")
	cmd := exec.Command(sitetest.Raymond.Path(r.t), "action")
	cmd.Dir, cmd.Env = j.Work, slices.Concat(j.Environ(), r.environ(j.Env["HOME"]), inputs)
	return sitetest.Begin(r.t, cmd)
}

// environ is what the CLIs need, with their keys as inputs.
func (r *relay) environ(home string) []string {
	var env, passed []string
	for _, s := range r.sides {
		for _, v := range s.vendor.Environ(r.t, s.url, home) {
			name, value, _ := strings.Cut(v, "=")
			if input := keyInputs[name]; input != "" {
				env = append(env, "INPUT_"+strings.ToUpper(input)+"="+value)
				continue
			}
			env = append(env, v)
			if strings.HasPrefix(name, "COMMANDTEST_") || strings.HasPrefix(name, "CLAUDE_CODE_") || name == "IS_SANDBOX" {
				passed = append(passed, name)
			}
		}
		if flags := s.vendor.Flags(s.path); flags[0] == "--agent-command" {
			env = append(env, "INPUT_AGENT-COMMAND="+flags[1], "INPUT_CAGE-READ="+filepath.Dir(s.path))
		} else {
			env = append(env, "INPUT_"+strings.ToUpper(s.vendor.Name)+"-PATH="+s.path)
		}
	}
	return append(env, "INPUT_BUDGET=0", "INPUT_ENV="+strings.Join(passed, " "), "INPUT_AGENT="+r.sides[0].vendor.Name)
}

// checkCarried: a later job continues the conversation on another machine, with another home
// and another folder. In both of them nothing but the key proxy can be reached from the cage.
func checkCarried(t *testing.T, v agenttest.Vendor) {
	model := &player{}
	r := newRelay(t, waiting)
	r.add(v, model)
	held := []string{"INPUT_CAGE=require", "INPUT_NETWORK=none"}
	if v.Name == protocol.BackendCommand {
		held = nil // no proxy stands between it and its API
	}
	assert.Equal(t, patiently(r.begin(1, append(held, "INPUT_MAX-ITERATIONS=1")...)).Code, problem.ExitCodes[problem.ClassOverLimit], "first job")
	assert.Equal(t, patiently(r.begin(2, append(held, "INPUT_RESUME=require", "INPUT_MAX-ITERATIONS=9")...)).Code, 0, "second job")
	m := &machine{Site: &sitetest.Site{T: t}, model: model}
	m.wantShown("First prompt.", "Second prompt. wait here")
}

// inFolder puts the files of a workflow into the folder of the repository that has it.
func inFolder(archive string) string {
	return regexp.MustCompile(`(?m)^-- `).ReplaceAllString(archive, "-- wf/")
}
