//go:build linux

package examplestest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// TestReadmeQuickStartByCommit does what README.md says under "In your repository":
// it takes a commit from the line that prints one, puts it into the workflow file and
// pushes that. The action is this repository as it is, without a program, so the step
// that sets up Go has to come before it.
func TestReadmeQuickStartByCommit(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(acttest.Root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	commit := printedCommit(t, page)
	workflow := regexp.MustCompile("(?s)<!-- by commit: .*?```yaml\n(.*?)```").FindStringSubmatch(page)
	setupGo := regexp.MustCompile(`actions/setup-go@[0-9a-f]{40}`).FindString(page)
	if workflow == nil || setupGo == "" || strings.Count(workflow[1], "@COMMIT\n") != 1 {
		t.Fatalf("README.md: got no workflow file by commit with actions/setup-go, want one:\n%s", workflow)
	}
	s := New(t, Setup{Example: "quickstart", Shipped: true, Edit: func(string) string {
		return strings.Replace(workflow[1], "@COMMIT\n", "@"+commit+"\n", 1)
	}})
	s.Agents.Remove()
	s.Actions = map[string]string{"raymond-action/raymond-action@" + commit: acttest.Root(t), setupGo: setsUpGo(t)}
	for _, name := range []string{"GOMODCACHE", "GOCACHE", "GOPROXY", "GOSUMDB"} {
		s.Env[name] = printed(t, exec.CommandContext(t.Context(), "go", "env", name))
	}
	push := jobsPayload(t, map[string]any{"ref": "refs/heads/main", "head_commit": map[string]any{"message": "try it"}})
	r := s.Run("push", push)
	jobsWant(t, r, map[string]string{"quickstart": "success"})
	if out := Shown(r); !strings.Contains(out, "1 + 2 + ... + 300 = 45150") {
		t.Errorf("quick start by commit: got\n%s\nwant the sum", out)
	}
}

// printedCommit runs the line of a page that prints a commit of the action, with a
// repository of this machine in the place of GitHub's.
func printedCommit(t *testing.T, page string) string {
	t.Helper()
	line := regexp.MustCompile(`(?m)^git ls-remote .*$`).FindString(page)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", line)
	origin := acttest.Repository(t, "-- action.yml --\nname: raymond-action\n")
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+origin+".insteadOf",
		"GIT_CONFIG_VALUE_0=https://github.com/raymond-action/raymond-action", "GIT_ALLOW_PROTOCOL=file")
	commit, _, _ := strings.Cut(printed(t, cmd), "\t")
	if !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(commit) {
		t.Fatalf("%s: got %q, want a commit id first", line, commit)
	}
	return commit
}

// printed is what a command prints, without the line break at its end.
func printed(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", cmd.Args, err)
	}
	return strings.TrimSpace(string(out))
}

// setsUpGo is the folder of an action that puts this machine's Go on PATH.
func setsUpGo(t *testing.T) string {
	t.Helper()
	root := printed(t, exec.CommandContext(t.Context(), "go", "env", "GOROOT"))
	return acttest.Repository(t, fmt.Sprintf(`-- action.yml --
name: setup-go
inputs: {go-version: {required: true}, cache: {default: "true"}}
runs:
  using: composite
  steps:
    - run: echo '%s' >>"$GITHUB_PATH"
      shell: bash
`, filepath.Join(root, "bin")))
}
