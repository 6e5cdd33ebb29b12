//go:build linux

package action_test

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// withoutCLI is a job on a machine without an agent CLI, on which a script stands in
// for npm.
func (s *scene) withoutCLI(npm string, inputs ...string) *bareJob {
	s.t.Helper()
	j := s.job(1, inputs...)
	bin := filepath.Join(j.root, "npm-bin")
	j.site.Write(filepath.Join(bin, "npm"), "#!/bin/bash\n"+npm)
	if err := os.Chmod(filepath.Join(bin, "npm"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	return j.set("PATH", bin+":/usr/local/bin:/usr/bin:/bin", "RUNNER_TOOL_CACHE", filepath.Join(j.root, "tools"))
}

// TestInstallationIsNoTimeOfTheState: npm has its own lines in the log, and what it
// took, by its own clock, is missing from the time of the state that waited for it.
func TestInstallationIsNoTimeOfTheState(t *testing.T) {
	t.Parallel()
	s := newScene(t, agentAtWork)
	took := filepath.Join(t.TempDir(), "took")
	j := s.withoutCLI(fmt.Sprintf(`began=$(date +%%s%%N)
dir=node_modules/@anthropic-ai/claude-code-linux-x64
mkdir -p "$dir" && cp %s "$dir/claude" && echo $((($(date +%%s%%N) - began) / 1000000)) >%s`, sitetest.Stub.Path(t), took))
	e := j.do(0)
	said := regexp.MustCompile(`(?s)installing Claude Code \S+ with npm.*installed Claude Code \S+ in \d+\.\d s.*agent CLI: Claude Code \S+ at \S+/tools/`)
	if !said.MatchString(e.Stdout) {
		t.Errorf("log: got %v\nwant begin, end and seconds of the installation, version and path", e)
	}
	npm, err := strconv.ParseInt(strings.TrimSpace(j.read(took)), 10, 64)
	if err != nil || npm < 2 {
		t.Fatalf("npm took %d ms, %v", npm, err)
	}
	var started time.Time
	for _, ev := range sitetest.EventsIn(t, e.outputs["events-file"]) {
		switch b := ev.Body.(type) {
		case *state.StateStarted:
			started = ev.Time
		case *state.StateFinished:
			if passed := ev.Time.Sub(started).Milliseconds(); ev.State == "START.md" && b.DurationMS > passed-npm+1 {
				t.Errorf("START.md: got %d ms of the %d that passed, want none of the %d in which npm ran", b.DurationMS, passed, npm)
			}
		}
	}
}

// TestFailedInstallationIsTold with what npm says is wrong.
func TestFailedInstallationIsTold(t *testing.T) {
	t.Parallel()
	j := newScene(t, agentAtWork).withoutCLI("echo 'npm error code E403' >&2\necho 'npm error 403 Forbidden - GET https://registry.example/x' >&2\n" +
		"echo 'npm error A complete log of this run can be found in: /x.log' >&2\nexit 1")
	e := j.do(problem.ExitCodes[problem.ClassRuntime])
	e.wantOutputs(t, "error-class", "runtime")
	e.wantSays(t, "error", "code E403; 403 Forbidden - GET https://registry.example/x")
	if strings.Contains(e.String(), "complete log") {
		t.Errorf("got %v, want nothing of npm's log file", e)
	}
}

// TestCancelDuringTheInstallation is a cancel, and no CLI that is missing: npm hangs.
func TestCancelDuringTheInstallation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"begun", "never"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j := newScene(t, agentAtWork).withoutCLI(fmt.Sprintf("trap 'exit 1' INT; exec 9<>%[1]s/never; echo go >%[1]s/begun; read -r -u 9", dir))
	c := j.start()
	if _, err := os.ReadFile(filepath.Join(dir, "begun")); err != nil {
		t.Fatal(err)
	}
	c.Signal(syscall.SIGINT)
	e := j.end(c)
	if e.Code != 130 || strings.Contains(e.String(), "not found") {
		t.Errorf("interrupted while npm ran: got %v\nwant exit code 130, and no CLI missed", e)
	}
	e.wantOutputs(t, "status", "cancelled", "error-class", "cancelled", "cost-usd", "0", "resumable", "true")
}

// TestContractErrorsNameTheAPI: newer versions of the agent CLI name the address that
// they talk to, which is that of the key proxy.
func TestContractErrorsNameTheAPI(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 529} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			api := claudetest.NewServer(t, claudetest.On("", claudetest.Fail(status)))
			j := newScene(t, agentAtWork).job(1, "anthropic-api-key", modelKey, "max-retries", "0", "overload-wait", "0", "env", sitetest.CLIEnv)
			maps.Copy(j.env, sitetest.CLIVariables(api))
			j.stub = claudetest.Install(t)
			notes := j.wrapped("")
			e := j.do(1)
			proxy, err := url.Parse(environment(j.read(filepath.Join(notes, "env")))["ANTHROPIC_BASE_URL"])
			if err != nil || proxy.Host == "" || proxy.Host == strings.TrimPrefix(api.URL, "http://") {
				t.Fatalf("the agent's API: got %v, %v, want the key proxy", proxy, err)
			}
			told := e.String() + e.summary + e.outputs["error-class"] + j.read(e.outputs["events-file"])
			if strings.Contains(told, proxy.Host) {
				t.Errorf("got %s\nwant the proxy's address %s nowhere", told, proxy.Host)
			}
			if names := claudetest.Since(t, "2.1.330"); names {
				e.wantSays(t, "error", "check your inference gateway ("+strings.TrimPrefix(api.URL, "http://")+")")
			}
		})
	}
}
