//go:build linux

package examplestest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// ralphUpload stands in for the action that stores artifacts: it copies the file to
// the folder that $KEEP names, under the artifact's name.
const ralphUpload = `name: upload
inputs: {name: {required: true}, path: {required: true}, if-no-files-found: {default: warn}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", FILE: "${{ inputs.path }}", MISSING: "${{ inputs.if-no-files-found }}"}
      run: if [ -e "$FILE" ]; then cp "$FILE" "$KEEP/$NAME"; else [ "$MISSING" = ignore ]; fi
`

// ralphTask is a text that no shell, no tag and no YAML may take for a part of itself.
const ralphTask = "Write slug.sh; it prints a \"slug\" & <result>; $(touch PWNED)"

const ralphRight = `printf '%s\n' 'tr A-Z a-z <<<"$1" | sed "s/[^a-z0-9]\{1,\}/-/g; s/^-//; s/-$//"' >slug.sh`

// ralph is a stage with a test that fails, and the folder of what is uploaded.
func ralph(t *testing.T, shipped bool) (*Stage, string) {
	t.Helper()
	root := acttest.Root(t)
	test, err := os.ReadFile(filepath.Join(root, "examples/ralph/project/slug_test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	s := New(t, Setup{Example: "ralph", Shipped: shipped, Files: "-- slug_test.sh --\n" + string(test)})
	return s, filepath.Join(keepUploads(t, s), "ralph-patch")
}

// uploader is the action that stores artifacts, as a workflow file names it.
var uploader = regexp.MustCompile(`actions/upload-artifact@\S+`)

// keepUploads has the workflow file of a stage store its artifacts in a folder, which it returns.
func keepUploads(t *testing.T, s *Stage) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(s.Repo, s.Workflow))
	if err != nil {
		t.Fatal(err)
	}
	upload, keep := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(upload, "action.yml"), []byte(ralphUpload), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Env["KEEP"] = keep
	s.Actions[string(uploader.Find(file))] = upload
	return keep
}

func ralphRun(t *testing.T, s *Stage, test string) *acttest.Result {
	t.Helper()
	return s.Run("workflow_dispatch", jobsDispatch(t, "ralph", map[string]string{"test": test, "task": ralphTask}))
}

// TestRalphTriesUntilTheTestPasses: twice it fails, and each attempt is told how.
// The work comes out as a patch that makes the test pass, and nothing is pushed.
func TestRalphTriesUntilTheTestPasses(t *testing.T) {
	t.Parallel()
	s, patch := ralph(t, true)
	s.Agents.Play("WORK.md", "echo 'I did nothing.'", "echo 'echo hello-world' >slug.sh; echo 'Done.'", ralphRight+"; mkdir '<'; touch '</result>'; echo 'Now it does.'")
	r := ralphRun(t, s, "bash slug_test.sh")
	jobsWant(t, r, map[string]string{"ralph": "success"})
	step := WantStep(t, r, "ralph", "raymond", "success", "status", "completed", "outcome", "clean_with_flake", "cost-usd", "0.03", "iterations", "3")
	if got := step.Outputs["result"]; !strings.Contains(got, "the command passes") || !strings.Contains(got, "slug.sh") || !strings.Contains(got, "2 files changed") {
		t.Errorf("result: got %q, want what was changed", got)
	}
	jobsWantSummary(t, step, "Completed", "Attempt 1 in", "Attempt 2 in", "No such file", "got 'hello-world', want 'two-words'")
	calls := s.Agents.Calls()
	for i, want := range []string{"No such file", "No such file", "got 'hello-world', want 'two-words'"} {
		if i >= len(calls) || !strings.Contains(calls[i].Prompt, want) || !strings.Contains(calls[i].Prompt, ralphTask) {
			t.Errorf("prompt %d of %v: want the task and %q in it", i+1, calls, want)
		}
	}
	ralphPatch(t, s, patch)
	if got := s.Forge.Git("for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("branches: got %q, want main alone", got)
	}
}

// ralphPatch applies the patch to a checkout, where the test must pass then.
func ralphPatch(t *testing.T, s *Stage, patch string) {
	t.Helper()
	cmd := exec.Command("bash", "-ec", `git clone -q "$BARE" checkout; cd checkout; git apply "$PATCH"; git status --porcelain; bash slug_test.sh`)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "BARE="+s.Forge.Bare, "PATCH="+patch)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "?? </\n?? slug.sh\n" {
		t.Errorf("patch on a checkout: got %v and %q, want slug.sh, and the test to pass", err, out)
	}
}

// TestRalphThatIsStuckFails and leaves no patch, also when the agent has made the
// command pass by changing the test.
func TestRalphThatIsStuckFails(t *testing.T) {
	t.Parallel()
	s, patch := ralph(t, false)
	s.Agents.Play("WORK.md", "echo 'It must be the test.'", "echo 'exit 0' >slug_test.sh; echo 'Now it passes.'")
	r := ralphRun(t, s, "bash slug_test.sh")
	jobsWant(t, r, map[string]string{"ralph": "failure"})
	step := WantStep(t, r, "ralph", "raymond", "failure", "status", "failed", "error-class", "run_failed", "result", "", "cost-usd", "0.04")
	jobsWantSummary(t, step, "Failed", "max_ralph_iters_reached", "`protected_files_changed: slug_test.sh`")
	if _, err := os.Stat(patch); err == nil {
		t.Errorf("patch: got one, want none of work that does not pass")
	}
}

// TestRalphAsksNobodyWhenTheTestPasses: that is found out without a token.
func TestRalphAsksNobodyWhenTheTestPasses(t *testing.T) {
	t.Parallel()
	s, patch := ralph(t, true)
	s.Agents.Remove()
	r := ralphRun(t, s, "test -e slug_test.sh")
	jobsWant(t, r, map[string]string{"ralph": "success"})
	WantStep(t, r, "ralph", "raymond", "success", "status", "completed", "cost-usd", "0", "result", "nothing to do: the command passes")
	if _, err := os.Stat(patch); err == nil {
		t.Errorf("patch: got one, want none")
	}
}
