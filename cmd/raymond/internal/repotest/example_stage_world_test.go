//go:build linux && world

package repotest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/claude"
)

// actionName is how the examples use the action.
const actionName = "raymond-action/raymond-action@v1"

// APIKey is the model's key that workflows get as the secret ANTHROPIC_API_KEY.
const APIKey = "sk-ant-of-the-consumer"

// realCLI keeps the real CLI off the network.
const realCLI = `#!/bin/bash
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_TELEMETRY=1 DISABLE_UPDATES=1 CLAUDE_CODE_MAX_RETRIES=1 NO_PROXY='*'
exec %q "$@"
`

// Setup is what a consumer has.
type Setup struct {
	Example string // the folder in examples/
	Files   string // the consumer's own files, a txtar archive
	// Edit, unless nil, changes the text of the workflow file before it is placed.
	Edit func(string) string
}

// Stage is a consumer's repository with an example in it, the forge that it is on,
// and what agents do there. Its Config is that of every workflow run.
type Stage struct {
	acttest.Config
	Forge *Forge

	t   testing.TB
	run int64 // of the last event
}

// New makes the repository, with one commit on main, which the forge has too. The agent CLI is
// the real one, which talks to the API at url.
func New(t testing.TB, setup Setup, url string) *Stage {
	t.Helper()
	s := &Stage{t: t, Forge: newForge(t)}
	files, cli := setup.files(t), t.TempDir()
	installtest.WriteProgram(t, filepath.Join(cli, "claude"), fmt.Sprintf(realCLI, agenttest.Claude.Install(t, &claude.Pin)))
	s.Config = acttest.Config{
		Repo: acttest.Repository(t, files), Workflow: ".github/workflows/" + setup.Example + ".yml",
		Actions: map[string]string{actionName: acttest.Release(t, sitetest.Raymond.Path(t))}, Artifacts: t.TempDir(),
		Secrets: map[string]string{"GITHUB_TOKEN": s.Forge.Token, "ANTHROPIC_API_KEY": APIKey},
		Path:    []string{cli},
		Env: map[string]string{
			"ANTHROPIC_BASE_URL": url,
			"GITHUB_API_URL":     s.Forge.URL + "/api", "GITHUB_SERVER_URL": s.Forge.URL, "GITHUB_GRAPHQL_URL": s.Forge.URL + "/graphql",
			// A race must not pass for an exit code of ours, nor cost a second at exit.
			"GORACE":              "atexit_sleep_ms=0 halt_on_error=1 exitcode=99",
			"GITHUB_WORKFLOW_REF": Repository + "/.github/workflows/" + setup.Example + ".yml@refs/heads/main",
		},
	}
	s.Forge.take(s.Repo)
	return s
}

// inputLines are the lines of a workflow file that begin the inputs of the action.
var inputLines = regexp.MustCompile(`(?m)^(\s+)workflow: .*$`)

// inputs let agents reach the agent CLI of the stage.
func inputs() string {
	lines := []string{"${0}", "${1}cage-read: |", "${1}  " + sitetest.Builds}
	if cache, err := os.UserCacheDir(); err == nil {
		lines = append(lines, "${1}  "+filepath.Join(cache, "raymond-action"))
	}
	return strings.Join(lines, "\n")
}

// files are the workflow file and the consumer's own files. The states are those of the program.
func (setup Setup) files(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "examples", setup.Example, "workflow.yml"))
	assert.NilError(t, err)
	text := string(data)
	if setup.Edit != nil {
		text = setup.Edit(text)
	}
	return setup.Files + "-- .github/workflows/" + setup.Example + ".yml --\n" + inputLines.ReplaceAllString(text, inputs())
}

// Run makes an event happen in a workflow run of its own, whose number is one more than
// that of the last, and waits for its end.
func (s *Stage) Run(event, payload string) *acttest.Result {
	s.t.Helper()
	s.run++
	s.Forge.site.Server.ChangeRun(s.run, func(r *artifactstest.Run) {
		*r = artifactstest.Run{ID: s.run, Event: event, Status: "in_progress", Path: s.Workflow, HeadBranch: "main", HeadRepository: RepositoryID}
	})
	c := s.Config
	c.Event, c.Payload, c.RunID = event, payload, s.run
	c.Results = acttest.Results{URL: s.Forge.site.Server.URL, Token: artifactstest.Token(s.run)}
	res := acttest.Run(s.t, c)
	s.Forge.site.Server.ChangeRun(s.run, func(r *artifactstest.Run) { r.Status = "completed" })
	return res
}
