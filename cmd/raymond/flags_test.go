package main

import (
	"bytes"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// usageErrors runs raymond run with arguments that contain invalid flags or no path. It checks that nothing
// is started, and returns the error lines about the flag with the given name.
func usageErrors(t *testing.T, flag string, args ...string) []string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := &App{Args: append([]string{"run"}, args...), Stdout: &stdout, Stderr: &stderr}
	if code := app.Main(); code != problem.ExitCodes[problem.ClassUsage] || stdout.Len() > 0 {
		t.Fatalf("raymond run %q: got exit code %d, stdout %q, stderr %q; want exit code 2 and no stdout",
			args, code, &stdout, &stderr)
	}
	var about []string
	for line := range strings.Lines(stderr.String()) {
		if strings.HasPrefix(line, "raymond: usage: --"+flag+": ") {
			about = append(about, line)
		}
	}
	return about
}

// TestNumbersAreReadStrictly checks that invalid values are rejected with one usage error that names the
// flag and the value. Valid values cause no error about their flag; the only error is the missing PATH.
func TestNumbersAreReadStrictly(t *testing.T) {
	nonsense := []string{ // neither numbers nor durations
		"", " ", "NaN", "nan", "Inf", "+Inf", "-Inf", "infinity", "-1", "-0", "+1", "1e400", "-1e400", "010", "00", "0x10",
		"0b1", "0o7", "1_000", "1,5", " 5", "5 ", "5\n", "٣", "1.", ".5", "1.5.2", "$5", "5USD", "abc", "null", "true", "1e-400",
	}
	refused := map[string][]string{"budget": append([]string{"1e3", "1E3", "1000000000.1", "99999999999999999999"}, nonsense...)}
	for _, flag := range []string{"max-iterations", "max-parallel", "max-agents", "max-depth", "max-retries", "max-reminders"} {
		refused[flag] = append([]string{"6.5", "1e3", "1.0", "1000000001", "9223372036854775808", "99999999999999999999"}, nonsense...)
	}
	for _, flag := range []string{"timeout", "idle-timeout", "deadline", "grace", "hold"} {
		refused[flag] = append([]string{"5", "1", "6.5", "-5s", "+5s", "5 s", "5S", "1d", "1w", "10000000h", "s", "5s5", "NaNs"}, nonsense...)
	}
	for _, flag := range []string{"max-parallel", "max-agents", "max-depth"} {
		refused[flag] = append(refused[flag], "0")
	}
	for flag, values := range refused {
		for _, v := range values {
			got := usageErrors(t, flag, "--"+flag+"="+v)
			assert.Assert(t, is.Len(got, 1), "--%s=%q", flag, v)
			assert.Check(t, is.Contains(got[0], text.Escape(`"`+strings.ReplaceAll(v, "\n", `\n`)+`"`)), "--%s=%q", flag, v)
		}
	}
	for _, arg := range []string{"--budget=0", "--budget=0.000000001", "--max-iterations=0", "--max-agents=1000000000", "--timeout=1h30m", "--grace=0", "--hold=1.5s"} {
		flag, _, _ := strings.Cut(arg[2:], "=")
		assert.Check(t, is.Len(usageErrors(t, flag, arg), 0), "%s: want it accepted", arg)
	}
}

// TestNearestNames checks that the hint names the right flag if a name is mistyped or abbreviated.
func TestNearestNames(t *testing.T) {
	known := []string{"budget", "max-agents", "max-parallel", "quiet", "verbose", "debug-dir"}
	for name, want := range map[string]string{
		"buget": "budget", "bugdet": "budget", "max-agent": "max-agents", "maxparallel": "max-parallel",
		"quite": "quiet", "verbos": "verbose", "debugdir": "debug-dir", "Quiet": "quiet",
		"max-ag": "max-agents", "verb": "verbose",
	} {
		assert.Check(t, is.Equal(didYouMean(name, known, "--"), "did you mean --"+want+"?"), "nearest to %q: want %q", name, want)
	}
	for _, name := range []string{"zzzzzzzz", "x"} {
		assert.Check(t, is.Equal(didYouMean(name, known, "--"), "see --help"), "nearest to %q: want none", name)
	}
}
