//go:build linux && world

package repotest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/claude"
	"github.com/raymond-action/raymond-action/runner/clitest"
)

// stageFile is the path of the workflow file in the repository.
const stageFile = ".github/workflows/issue-to-pr.yml"

// realCLI is a script that runs the real CLI without telemetry and updates.
const realCLI = `#!/bin/bash
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_TELEMETRY=1 DISABLE_UPDATES=1 CLAUDE_CODE_MAX_RETRIES=1 NO_PROXY='*'
exec %q "$@"
`

// stage is a user's repository with the example issue-to-pr, and a fake GitHub that hosts it. The runner is act, which runs
// jobs directly on this machine, without containers and without network. Unlike GitHub, act ignores event filters such as
// types:, always uses the repository's HEAD as ref and commit, and kills the step of a cancelled job immediately.
type stage struct {
	t      testing.TB
	forge  *Forge
	repo   string
	action string // the folder of the action
	cli    string // the folder of the real agent CLI
	url    string // the model's API
	act    string
	run    int64 // the workflow run of the last event
}

// newStage creates the repository, also on the fake GitHub. Its only commit on main contains the files of the archive and the
// workflow file as changed by edit. It contains no states, because the example's states are built into the program.
func newStage(t testing.TB, archive string, edit func(string) string, url string) *stage {
	t.Helper()
	cmd := exec.Command("go", "tool", "-n", "-modfile=.github/tools/act/go.mod", "act")
	// Build flags of the tests, such as -race, must not apply to act.
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0")
	act, err := cmd.Output()
	assert.NilError(t, err, "build act: by hand: %s", cmd)
	s := &stage{t: t, forge: newForge(t), action: t.TempDir(), cli: t.TempDir(), url: url, act: strings.TrimSpace(string(act))}
	sitetest.Release(t, s.action)
	installtest.WriteProgram(t, filepath.Join(s.cli, "claude"), fmt.Sprintf(realCLI, clitest.Claude.Install(t, &claude.Pin)))
	// In a cage, agents must be able to read the agent CLI of the tests.
	readable := "${0}\n${1}cage-read: |\n${1}  " + sitetest.Builds
	if cache, err := os.UserCacheDir(); err == nil {
		readable += "\n${1}  " + filepath.Join(cache, "raymond-action")
	}
	file := regexp.MustCompile(`(?m)^(\s+)workflow: .*$`).ReplaceAllString(edit(readText(t, "examples/issue-to-pr/workflow.yml")), readable)
	s.repo = sitetest.Repository(t, archive+"-- "+stageFile+" --\n"+file)
	s.forge.cloneFrom(s.repo)
	return s
}

// Run triggers an event of the private repository in a new workflow run and waits until all its jobs have ended. Workflow
// runs are numbered one after the other.
func (s *stage) Run(event string, fields map[string]any) *result {
	s.t.Helper()
	s.run++
	s.forge.site.ChangeRun(s.run, func(r *artifactstest.Run) {
		*r = artifactstest.Run{ID: s.run, Event: event, Status: "in_progress", Path: stageFile, HeadBranch: "main", HeadRepository: artifactstest.Repository}
	})
	dir, err := os.MkdirTemp("", "act-") // socket paths have a length limit, and t.TempDir's paths are long
	assert.NilError(s.t, err)
	s.t.Cleanup(func() { assert.Check(s.t, os.RemoveAll(dir)) })
	site := sitetest.Bare(s.t, dir)
	cmd := exec.Command(s.act, s.args(site, event, fields)...)
	path := []string{s.cli, filepath.Dir(installtest.Node(s.t)), "/usr/local/bin", "/usr/bin", "/bin"}
	cmd.Dir, cmd.Env = s.repo, []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + strings.Join(path, ":"), "LANG=C.UTF-8"}
	site.AddMark()
	cmd.Env = append(cmd.Env, site.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // act dies with the test process
	r := resultOf(sitetest.Begin(s.t, cmd).Wait())
	site.KillAll()
	s.forge.site.ChangeRun(s.run, func(r *artifactstest.Run) { r.Status = "completed" })
	return r
}

// args returns the arguments of act. Secrets and variables are in files (JSON, which act reads as YAML), so that no step
// finds them in the list of processes.
func (s *stage) args(site *sitetest.Site, event string, fields map[string]any) []string {
	s.t.Helper()
	file := func(name string, v any) string {
		data, err := json.Marshal(v)
		assert.NilError(s.t, err)
		site.Write(site.File(name), string(data))
		return site.File(name)
	}
	site.Write(site.File("home/.config/act/actrc"), "") // without this file, act asks a question
	payload := map[string]any{
		"sender":     map[string]any{"login": "ann", "type": "User"},
		"repository": map[string]any{"id": artifactstest.Repository, "full_name": "o/r", "private": true, "default_branch": "main"},
	}
	maps.Copy(payload, fields)
	return []string{
		event, "--json", "--rm", "--use-gitignore=false", "--no-recurse", "--workflows", stageFile, "--action-offline-mode", "--no-cache-server",
		"--platform", "ubuntu-latest=-self-hosted", "--local-repository", "raymond-action/raymond-action@v1=" + s.action,
		"--eventpath", file("event.json", payload),
		"--secret-file", file("secrets.yml", map[string]string{"GITHUB_TOKEN": token, "ANTHROPIC_API_KEY": "sk-ant-of-the-consumer"}),
		"--env-file", file("env.yml", map[string]string{
			"ANTHROPIC_BASE_URL": s.url, "GITHUB_RUN_ID": strconv.FormatInt(s.run, 10), "GITHUB_WORKFLOW_REF": "o/r/" + stageFile + "@refs/heads/main",
			"GITHUB_API_URL": s.forge.URL + "/api", "GITHUB_SERVER_URL": s.forge.URL, "GITHUB_GRAPHQL_URL": s.forge.URL + "/api/graphql",
			"ACTIONS_RESULTS_URL": s.forge.site.Server.URL, "ACTIONS_RUNTIME_TOKEN": artifactstest.Token(s.run),
		}),
	}
}

// result contains the outcome and the outputs of the main phase of each step of a workflow run. The keys are JOB/STEP.
type result struct {
	ends    map[string]string // "success" or "failure"
	outputs map[string]map[string]string
	log     string
}

// resultOf parses the output of act.
func resultOf(o sitetest.Outcome) *result {
	r := &result{ends: map[string]string{}, outputs: map[string]map[string]string{}, log: o.Stderr}
	for line := range strings.Lines(o.Stdout) {
		var l struct {
			Msg, Stage, Raw, Command, Name, Arg string

			Job    string            `json:"jobID"`
			IDs    []string          `json:"stepID"`
			Pairs  map[string]string `json:"kvPairs"`
			Result string            `json:"stepResult"`
		}
		err := json.Unmarshal([]byte(line), &l) // before its log, act writes plain text
		step := l.Job + "/" + strings.Join(l.IDs, ".")
		switch {
		case err != nil:
			r.log += line
		case l.Command == "set-output" && r.outputs[step] == nil:
			r.outputs[step] = map[string]string{}
			fallthrough
		case l.Command == "set-output":
			r.outputs[step][l.Name+l.Pairs["name"]] = l.Arg
		case l.Result != "" && l.Stage == "Main":
			r.ends[step] = l.Result
		}
		if text := l.Raw + l.Msg; err == nil && !strings.Contains(text, "::add-mask::") {
			r.log += step + ": " + strings.TrimRight(text, "\r\n") + "\n"
		}
	}
	return r
}

// WantStep checks the outcome ("success" or "failure") of the main phase of a step, which is named JOB/STEP. It also checks
// some outputs, given as names and values in turn.
func (r *result) WantStep(t testing.TB, step, end string, outputs ...string) {
	t.Helper()
	assert.Equal(t, r.ends[step], end, "step %s: %s", step, r.log)
	for want := range slices.Chunk(outputs, 2) {
		assert.Check(t, r.outputs[step][want[0]] == want[1], "step %s: output %s: got %q, want %q\n%s", step, want[0], r.outputs[step][want[0]], want[1], r.log)
	}
}
