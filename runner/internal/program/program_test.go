package program

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
)

// TestNeededHosts checks that a CLI needs the host in the API's URL or, if no URL is set, the vendor's host.
func TestNeededHosts(t *testing.T) {
	for base, want := range map[string]string{
		"": "[api.example]", "http://127.0.0.1:4711/x": "[127.0.0.1:4711]", "https://gate.example:8443/v1": "[gate.example:8443]",
		"https://gate.example": "[gate.example]", "nonsense": "[]", "http://127.0.0.1": "[]",
	} {
		assert.Check(t, is.Equal(fmt.Sprint((&CLI{}).Needs(Source{Name: "no-such-program"}, base, "api.example").Hosts), want), "%q", base)
	}
}

// TestParseVersion checks texts with and without a name before the version, and texts without a version.
func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"2.1.330 (Claude Code)\n": "2.1.330", "codex-cli 0.169.0\n": "0.169.0", "x v1.2.3": "1.2.3", "10.0.1-beta": "10.0.1",
		"": "", "error: 1.2.3 is too old": "", "1.2": "", "/opt/x 1.2.3": "", "one two 1.2.3": "",
	} {
		got := ""
		if v, ok := ParseVersion([]byte(text)); ok {
			got = v.String()
		}
		assert.Check(t, is.Equal(got, want), "%q", text)
	}
}

// TestPlainRuleNamesTheCommand checks the entries for commands and other tools, and that there is none
// for odd input.
func TestPlainRuleNamesTheCommand(t *testing.T) {
	for _, c := range []struct{ tool, command, want string }{
		{"Bash", "git push origin main", "Bash(git push:*)"},
		{"Bash", "make -C sub", "Bash(make:*)"},
		{"Bash", " ./x.sh\n", "Bash(./x.sh:*)"},
		{"Bash", "CI=1 npm test", "Bash(CI=1 npm:*)"},
		{"Bash", "go ./...", "Bash(go:*)"},
		{"Bash", "", ""},
		{"Bash", "'a b' c", ""},
		{"Bash", "$X y", ""},
		{"Write", "", "Edit"},
		{"NotebookEdit", "", "Edit"},
		{"Read", "", "Read"},
		{"mcp__a__b", "", "mcp__a__b"},
		{"Bad Tool(", "", ""},
		{"", "", ""},
	} {
		assert.Check(t, is.Equal(PlainRule(c.tool, c.command), c.want), "%s(%s)", c.tool, c.command)
	}
}

// TestGracePeriod checks that the CLI is ended if nothing follows its result during the grace period,
// and that a further turn stops the period.
func TestGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStream(runner.Order{}, nil, nil, nil)
		s.grace = 10 * time.Second
		for i, step := range []struct {
			report func()
			wait   time.Duration
			isDone bool // whether finished is closed after the wait
		}{
			{s.StopGrace, time.Hour, false}, {s.StartGrace, 9 * time.Second, false}, {s.StopGrace, time.Hour, false}, {s.StartGrace, 9 * time.Second, false},
			{s.StartGrace, 9 * time.Second, false}, // after a second result, the period begins again
			{s.StartGrace, 11 * time.Second, true}, {s.StopGrace, time.Second, true}, {s.StartGrace, time.Hour, true},
		} {
			step.report()
			time.Sleep(step.wait) // uses the fake time of synctest
			synctest.Wait()
			isDone := false
			select {
			case <-s.finished:
				isDone = true
			default:
			}
			assert.Check(t, is.Equal(isDone, step.isDone), "step %d: done", i)
		}
	})
}
